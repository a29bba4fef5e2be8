// Written by `python -m ambulo.studio.typescript web/src/messages.ts` from studio/*messages.py: do not edit.

export const PROTOCOL_VERSION = 1;

/** What is asked of the character until the next input. */
export interface Input {
  type: "input";
  velocity: [number, number];
  facing?: [number, number];
  sequence?: number;
}

/** How many pose frames of this connection the page has drawn or passed over. Frames are sent while few are unseen, */
export interface Seen {
  type: "seen";
  frames: number;
}

/** Stop or go on. Going on from the past forgets what came after it. */
export interface Pause {
  type: "pause";
  paused: boolean;
}

/** Pause, and go a few frames forward (negative: back). */
export interface Step {
  type: "step";
  frames?: number;
}

/** Slow motion: seconds of the character's life a second of ours. */
export interface Rate {
  type: "rate";
  rate: number;
}

/** Pause, and show the moment of that tick. */
export interface Rewind {
  type: "rewind";
  tick: number;
}

/** Other weights for some feature groups; the others keep theirs. */
export interface SetWeights {
  type: "set_weights";
  weights: Record<string, number>;
}

/** Tags that all frames shown must carry. */
export interface SetTags {
  type: "set_tags";
  required: string[];
}

/** Drive the character by another controller. */
export interface ChooseController {
  type: "choose_controller";
  name: string;
}

/** Play another of the projects that the server was started with. */
export interface ChooseProject {
  type: "choose_project";
  name: string;
}

/** Put the character back to the origin. */
export interface Restart {
  type: "restart";
}

/** Send what was asked in the moments kept, up to the one shown, as a file for ``ambulo simulate --input``. */
export interface SaveInput {
  type: "save_input";
}

/** Train learned motion matching on the project that is open, in a process of its own. */
export interface Train {
  type: "train";
  preset: string;
  resume?: boolean;
}

/** Stop the training; what it has learned is kept to go on from. */
export interface StopTraining {
  type: "stop_training";
}

/** The skeleton; offsets in metres, ``end_offsets`` null where the file has none. */
export interface SkeletonInfo {
  names: string[];
  parents: number[];
  roles: Record<string, number>;
  offsets: number[][];
  end_offsets: (number[] | null)[];
}

/** A standing pose of the database in which the page models the body: global, metres and (x, y, z, w). */
export interface BindInfo {
  positions: number[][];
  rotations: number[][];
}

/** A feature group: its name, its kind and meaning, and its weight in the schema and now. */
export interface GroupInfo {
  name: string;
  kind: string;
  meaning: string;
  dimension_count: number;
  schema_weight: number;
  weight: number;
}

/** A tag and how much of the database carries it, in seconds. */
export interface TagInfo {
  name: string;
  seconds: number;
}

/** A clip of the database. */
export interface ClipInfo {
  name: string;
  seconds: number;
  mirrored: boolean;
  tags: string[];
}

/** The database in numbers. */
export interface SummaryInfo {
  clip_count: number;
  frame_count: number;
  minutes: number;
  joint_count: number;
  dimension_count: number;
  megabytes: number;
  top_speed: number;
}

/** All that a page needs to know of the project, sent when it connects and when the project changes. */
export interface Hello {
  type: "hello";
  version: number;
  project: string;
  projects: string[];
  controllers: string[];
  rate: number;
  history_seconds: number;
  trajectory_times: number[];
  skeleton: SkeletonInfo;
  bind: BindInfo;
  groups: GroupInfo[];
  tags: TagInfo[];
  default_tags: string[];
  clips: ClipInfo[];
  summary: SummaryInfo;
}

/** What is set; sent when it changes. */
export interface Status {
  type: "status";
  controller: string;
  paused: boolean;
  rate: number;
  weights: Record<string, number>;
  required_tags: string[];
}

/** A frame that was considered: clip, second of the take, and cost by feature group. */
export interface CandidateInfo {
  frame: number;
  clip: string;
  time: number;
  cost: number;
  costs: Record<string, number>;
}

/** Why the character shows what it shows: its last search. */
export interface Choice {
  type: "choice";
  tick: number;
  clip: string;
  time: number;
  winner: CandidateInfo;
  runner_up: CandidateInfo | null;
  continuing: CandidateInfo | null;
  candidate_count: number;
  filtered: Record<string, number>;
  age: number;
}

/** How the server keeps up: steps a second (asked and done), and the cost of a step in microseconds. */
export interface Stats {
  type: "stats";
  asked_hz: number;
  hz: number;
  step_p50: number;
  step_p99: number;
  client_count: number;
}

/** A message that was refused, or something that went wrong; the character plays on. */
export interface Problem {
  type: "problem";
  message: string;
  key?: string | null;
  remedy?: string | null;
}

/** A project's files changed: it is ``building``, ``ready`` (and played, from where the character is) or ``failed`` */
export interface Rebuild {
  type: "rebuild";
  project: string;
  state: string;
  text: string;
  remedy?: string | null;
}

/** What one network has learned so far: steps done of how many, seconds that are left (null before it is known), the */
export interface NetworkCurve {
  name: string;
  step: number;
  steps: number;
  remaining: number | null;
  loss: [number, number][];
  validation: [number, Record<string, number>][];
}

/** The training of learned motion matching: ``impossible`` here (``text`` and ``remedy`` say why), ``none`` yet, */
export interface Training {
  type: "training";
  project: string;
  state: string;
  preset: string;
  presets: string[];
  text: string;
  remedy: string | null;
  seconds: number;
  networks: NetworkCurve[];
}

/** The answer to ``save_input``, for the page that asked: a file's name and text. */
export interface InputFile {
  type: "input_file";
  name: string;
  text: string;
}

/** Find the pose whose points lie where they are pinned. */
export interface SolvePose {
  type: "solve_pose";
  pins: Record<string, [number, number, number]>;
  floor?: boolean;
  sequence?: number;
}

/** A point: the smallest scheme that sets it, its partner on the other side, and where it sits on which joint. */
export interface PosePoint {
  name: string;
  scheme: number;
  mirrored: number;
  joint: number;
  offset: number[];
}

/** All that the posing page needs to know: the body, its points, the model, and the pins to begin with. */
export interface PoseHello {
  type: "pose_hello";
  project: string;
  model: string;
  skeleton: SkeletonInfo;
  bind: BindInfo;
  points: PosePoint[];
  start: Record<string, number[]>;
}

/** A pin that the body does not reach, and by how much. */
export interface UnreachedPin {
  point: string;
  millimetres: number;
}

/** A pose: local joint positions ``[3 J]`` (metres) and rotations ``[4 J]`` (x, y, z, w), and what it cost. */
export interface Posed {
  type: "posed";
  sequence: number;
  positions: number[];
  rotations: number[];
  unreached: UnreachedPin[];
  microseconds: number;
}

/** A key on the timeline: seconds and pins. */
export interface KeyPose {
  time: number;
  pins: Record<string, [number, number, number]>;
}

/** Keys to be saved as a file of motion; posted to ``/pose/save``. */
export interface SaveKeys {
  keys: KeyPose[];
  format: "bvh" | "glb";
  floor?: boolean;
  rate?: number;
}

export type ClientMessage = Input | Seen | Pause | Step | Rate | Rewind | SetWeights | SetTags | ChooseController | ChooseProject | Restart | SaveInput | Train | StopTraining;

export type ServerMessage = Hello | Status | Choice | Stats | Problem | Rebuild | Training | InputFile;

export type PoseClientMessage = SolvePose;

export type PoseServerMessage = PoseHello | Posed | Problem;
