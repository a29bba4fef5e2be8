// The overlay that lists the keys.

export interface HelpGroup {
  title: string;
  keys: [string[], string][];
}

export function Help({ groups, close }: { groups: HelpGroup[]; close: () => void }) {
  return (
    <div class="help" role="dialog" aria-label="Keys" onClick={close}>
      <div class="panel" onClick={(event) => event.stopPropagation()}>
        <div class="row">
          <h2 class="grow">Keys</h2>
          <button class="solid" onClick={close}>Close</button>
        </div>
        <div class="columns">
          {groups.map((group) => (
            <section key={group.title}>
              <h3>{group.title}</h3>
              <dl>
                {group.keys.map(([keys, what]) => (
                  <>
                    <dt>{keys.map((key, i) => <>{i > 0 && " "}<kbd>{key}</kbd></>)}</dt>
                    <dd>{what}</dd>
                  </>
                ))}
              </dl>
            </section>
          ))}
        </div>
      </div>
    </div>
  );
}
