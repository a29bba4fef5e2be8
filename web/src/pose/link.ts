// The connection to the server that finds poses: one question at a time, and of those that wait for a drag only the newest.

import type { Posed, PoseHello, PoseServerMessage, Problem } from "../messages";
import type { Pins } from "./document";

export interface LinkEvents {
  hello: (hello: PoseHello) => void;
  problem: (problem: Problem) => void;
  connected: (open: boolean) => void;
}

interface Question {
  pins: Pins;
  floor: boolean;
  answer: (posed: Posed) => void;
}

const KEPT = 500;
const identify = (pins: Pins, floor: boolean) => JSON.stringify([pins, floor]);

export class Link {
  private socket: WebSocket | null = null;
  private sequence = 0;
  private asked: Question | null = null;
  private newest: Question | null = null;
  private waiting: Question[] = [];
  private readonly known = new Map<string, Posed>();
  private retry = 250;

  constructor(private readonly events: LinkEvents) {
    this.connect();
  }

  /** A pose that was found before. */
  recall(pins: Pins, floor: boolean): Posed | undefined {
    return this.known.get(identify(pins, floor));
  }

  /** Asks for a pose. A question with `newest` takes the place of the one that still waits. */
  ask(pins: Pins, floor: boolean, answer: (posed: Posed) => void, newest = true): void {
    const known = this.recall(pins, floor);
    if (known) {
      if (newest) this.newest = null;
      answer(known);
      return;
    }
    if (newest) this.newest = { pins, floor, answer };
    else this.waiting.push({ pins, floor, answer });
    this.next();
  }

  private next(): void {
    if (this.asked || this.socket?.readyState !== WebSocket.OPEN) return;
    this.asked = this.newest ?? this.waiting.shift() ?? null;
    if (this.asked === this.newest) this.newest = null;
    if (!this.asked) return;
    const { pins, floor } = this.asked;
    this.socket.send(JSON.stringify({ type: "solve_pose", pins, floor, sequence: ++this.sequence }));
  }

  private receive(message: PoseServerMessage): void {
    if (message.type === "pose_hello") {
      this.known.clear();
      this.events.hello(message);
      this.next();
      return;
    }
    const question = this.asked;
    this.asked = null;
    if (message.type === "problem") this.events.problem(message);
    else if (question && message.sequence === this.sequence) {
      this.known.set(identify(question.pins, question.floor), message);
      if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value!);
      question.answer(message);
    }
    this.next();
  }

  private connect(): void {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/pose/ws`);
    this.socket = socket;
    socket.onopen = () => {
      this.retry = 250;
      this.asked = null;
      this.events.connected(true);
    };
    socket.onmessage = (event: MessageEvent<string>) => this.receive(JSON.parse(event.data) as PoseServerMessage);
    socket.onclose = () => {
      this.events.connected(false);
      window.setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(this.retry * 2, 4000);
    };
  }
}
