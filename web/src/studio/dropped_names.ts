// Names of dropped files: which go first, and what annotations are called when their take was given another name.

const ANNOTATIONS = [".tags.csv", ".channels.csv"];

const annotationOf = (name: string) => ANNOTATIONS.find((ending) => name.endsWith(ending));

/** A name without its ending: `walk_01` of `walk_01.bvh` and of `walk_01.tags.csv`. */
export function stemOf(name: string): string {
  const ending = annotationOf(name);
  if (ending) return name.slice(0, -ending.length);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** Takes before annotations. */
export function inOrder<T extends { name: string }>(files: T[]): T[] {
  return [...files.filter((file) => !annotationOf(file.name)), ...files.filter((file) => annotationOf(file.name))];
}

/** What a file is sent as; `given` maps the stems of takes that were sent to those that they got. */
export function nameFor(name: string, given: ReadonlyMap<string, string>): string {
  const ending = annotationOf(name);
  return ending ? (given.get(stemOf(name)) ?? stemOf(name)) + ending : name;
}
