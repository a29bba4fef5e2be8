// A timeline that is scrubbed with the pointer: bands (clips, ranges), ticks (transitions) and a playhead.

import { useEffect, useRef } from "preact/hooks";

export interface Band {
  start: number;
  stop: number;
  label: string;
  /** Row 0 is the lower, thinner one. */
  row: 0 | 1;
}

export interface TimelineProps {
  /** Extent of the timeline in any one unit (frames, seconds); so are all positions. */
  start: number;
  stop: number;
  playhead: number;
  bands: Band[];
  ticks: number[];
  /** Positions before this one are drawn as missing (a ring buffer that is not yet full). */
  filledFrom?: number;
  label: string;
  seek: (position: number) => void;
  grabbed?: (held: boolean) => void;
}

export function Timeline(props: TimelineProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => draw(canvas.current!, props));
  useEffect(() => {
    const element = canvas.current!;
    const observer = new ResizeObserver(() => draw(element, latest.current));
    observer.observe(element);
    const seekTo = (event: PointerEvent) => {
      const box = element.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      latest.current.seek(latest.current.start + share * (latest.current.stop - latest.current.start));
    };
    const down = (event: PointerEvent) => {
      element.setPointerCapture(event.pointerId);
      latest.current.grabbed?.(true);
      seekTo(event);
    };
    const move = (event: PointerEvent) => {
      if (element.hasPointerCapture(event.pointerId)) seekTo(event);
    };
    const up = () => latest.current.grabbed?.(false);
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", move);
    element.addEventListener("pointerup", up);
    return () => {
      observer.disconnect();
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
    };
  }, []);

  return (
    <canvas
      class="timeline" ref={canvas} role="slider" aria-label={props.label} aria-valuemin={props.start} aria-valuemax={props.stop}
      aria-valuenow={props.playhead}
    />
  );
}

function draw(canvas: HTMLCanvasElement, props: TimelineProps): void {
  const ratio = Math.min(window.devicePixelRatio, 2);
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const g = canvas.getContext("2d")!;
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  const x = (position: number) => ((position - props.start) / Math.max(props.stop - props.start, 1e-9)) * width;

  g.fillStyle = color("--track");
  g.beginPath();
  const from = Math.max(x(props.filledFrom ?? props.start), 0);
  g.roundRect(from, 2, width - from, height - 4, 5);
  g.fill();
  g.font = `10.5px ${style.fontFamily}`;
  g.textBaseline = "middle";
  const rows = props.bands.some((band) => band.row === 1) ? 2 : 1;
  const rowHeight = (height - 8) / rows;
  props.bands.forEach((band, i) => {
    const a = Math.max(x(band.start), 0), b = Math.min(x(band.stop), width);
    if (b <= a) return;
    const top = 4 + (rows === 2 ? (band.row === 1 ? 0 : rowHeight) : 0);
    g.save();
    g.beginPath();
    g.roundRect(a + 0.5, top + 1, Math.max(b - a - 1, 1), rowHeight - 2, 3);
    g.clip();
    g.globalAlpha = i % 2 ? 0.16 : 0.28;
    g.fillStyle = color(band.row === 1 ? "--accent" : "--desired");
    g.fillRect(a, top, b - a, rowHeight);
    if (b - a > 26) {
      g.globalAlpha = 0.9;
      g.fillStyle = color("--text");
      g.fillText(band.label, a + 5, top + rowHeight / 2 + 0.5);
    }
    g.restore();
  });
  g.fillStyle = color("--accent");
  for (const tick of props.ticks) g.fillRect(x(tick) - 0.5, height - 6, 1, 4);
  const at = Math.min(Math.max(x(props.playhead), 1), width - 1);
  g.fillStyle = color("--text");
  g.fillRect(at - 1, 0, 2, height);
}
