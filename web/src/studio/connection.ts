// The WebSocket to the server: reconnects, decodes, measures the latency of inputs.

import type { ClientMessage, ServerMessage } from "../messages";
import { readFrame, type PoseFrame } from "./frames";

export interface ConnectionEvents {
  opened: () => void;
  closed: (reason: string) => void;
  message: (message: ServerMessage) => void;
  frame: (frame: PoseFrame) => void;
}

export class Connection {
  /** Milliseconds from sending an input to the frame that took it in; eased. */
  latency: number | null = null;
  private socket: WebSocket | null = null;
  private sequence = 0;
  private readonly sent = new Map<number, number>();
  private retry = 250;

  constructor(private readonly events: ConnectionEvents) {
    this.connect();
  }

  get open(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  send(message: ClientMessage): void {
    if (!this.open) return;
    if (message.type === "input") {
      message = { ...message, sequence: ++this.sequence };
      this.sent.set(this.sequence, performance.now());
      if (this.sent.size > 120) this.sent.delete(this.sent.keys().next().value!);
    }
    this.socket!.send(JSON.stringify(message));
  }

  private connect(): void {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.retry = 250;
      this.sequence = 0;
      this.sent.clear();
      this.events.opened();
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (typeof event.data === "string") this.events.message(JSON.parse(event.data) as ServerMessage);
      else {
        const frame = readFrame(event.data);
        this.measure(frame.sequence);
        this.events.frame(frame);
      }
    };
    socket.onclose = (event) => {
      this.events.closed(event.reason);
      window.setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(this.retry * 2, 4000);
    };
  }

  private measure(sequence: number): void {
    const sent = this.sent.get(sequence);
    if (sent === undefined) return;
    for (const key of [...this.sent.keys()]) if (key <= sequence) this.sent.delete(key);
    const passed = performance.now() - sent;
    this.latency = this.latency === null ? passed : 0.85 * this.latency + 0.15 * passed;
  }
}
