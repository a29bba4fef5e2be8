// The few pictures on buttons, drawn here: nothing is fetched and nothing is borrowed.

const SHAPES = {
  play: "M4 2.5v11l9.5-5.5z",
  pause: "M4 2.5h3v11H4zM9 2.5h3v11H9z",
  back: "M11.5 2.5v11L5 8zM3 2.5h1.8v11H3z",
  forward: "M4.5 2.5v11L11 8zM11.2 2.5H13v11h-1.8z",
  start: "M8.2 2.8v10.4L1.8 8zM14.2 2.8v10.4L7.8 8z",
  follow: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 1.5a5 5 0 1 1 0 10A5 5 0 0 1 8 3zm0 2.6a2.4 2.4 0 1 0 0 4.8 2.4 2.4 0 0 0 0-4.8z",
  help: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zm0 1.4a5.1 5.1 0 1 1 0 10.2A5.1 5.1 0 0 1 8 2.9zM7.2 10.6h1.6v1.6H7.2zM8 3.9c1.5 0 2.6.9 2.6 2.2 0 1-.5 1.5-1.2 2-.5.4-.6.6-.6 1.3H7.3c0-1.1.3-1.6 1-2.1.6-.4.8-.7.8-1.2 0-.5-.4-.9-1.1-.9s-1.1.4-1.2 1.1H5.3C5.4 4.800 6.500 3.900 8 3.900z",
  theme: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM8 3v10A5 5 0 0 1 8 3z",
};

export type IconName = keyof typeof SHAPES;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path fill-rule="evenodd" d={SHAPES[name]} />
    </svg>
  );
}
