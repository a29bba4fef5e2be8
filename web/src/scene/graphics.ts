// Whether a graphics card draws WebGL here, or the processor, or nobody.

export type Graphics = "hardware" | "software" | "none";

/** Names under which browsers tell of drawing by the processor. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render|paravirtual/i;

export function isSoftware(renderer: string): boolean {
  return SOFTWARE.test(renderer);
}

let known: Graphics | null = null;

/** Asked once, with a context that is given back at once. */
export function graphicsHere(): Graphics {
  return (known ??= probe());
}

function probe(): Graphics {
  const context = document.createElement("canvas").getContext("webgl2", { antialias: false, depth: false, alpha: false });
  if (!context) return "none";
  const names = context.getExtension("WEBGL_debug_renderer_info");
  const renderer = String(context.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return isSoftware(renderer) ? "software" : "hardware";
}
