// The line of a training's curve.

/** An SVG path through (step, value) on a logarithmic scale of its own; steps from 0 to `steps` fill the width. */
export function curvePath(points: readonly (readonly [number, number])[], steps: number, width: number, height: number): string {
  const real = points.filter(([, value]) => Number.isFinite(value) && value > 0);
  if (real.length === 0) return "";
  const logs = real.map(([, value]) => Math.log(value));
  const low = Math.min(...logs), span = Math.max(...logs) - low || 1;
  const edge = 3;
  return real
    .map(([step], i) => {
      const x = (step / Math.max(steps, 1)) * width;
      const y = edge + (1 - (logs[i]! - low) / span) * (height - 2 * edge);
      return `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

export function duration(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0);
  if (whole < 90) return `${whole} s`;
  return whole < 5400 ? `${Math.round(whole / 60)} min` : `${(whole / 3600).toFixed(1)} h`;
}
