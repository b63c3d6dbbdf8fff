/** The words of loopguard: what a gateway tells the guard, and what the guard says. */
import type { JsonFlag } from "./json/flags.js";
import type { JsonText } from "./json/text.js";

/**
 * What to do with a call.
 *
 * - `ALLOW`: run it.
 * - `WARN`: run it, then append the note to its result.
 * - `BLOCK`: run nothing of this batch; give each note to the model as the call's error result.
 * - `ABORT`: stop the turn or the run, as `scope` says.
 */
export type Action = "ALLOW" | "WARN" | "BLOCK" | "ABORT";

/** What an abort ends: everything until the next user message, or the run. */
export type Scope = "TURN" | "RUN";

/** How sure a detector is. */
export type Level = "warning" | "critical";

/** Whether verdicts are held against the run. */
export type Mode = "ENFORCE" | "OBSERVE";

/** How a call ended; `PENDING` stands only in `record`. */
export type Status =
  "OK" | "ERROR" | "UNKNOWN_TOOL" | "INVALID_ARGUMENTS" | "DENIED" | "LOOP_VETO" | "CANCELLED" | "PENDING";

/** A tool call about to run. */
export interface Call {
  tool: string;
  /** The arguments as JSON text; absent or empty: `{}`. */
  args?: JsonText | undefined;
  /** The 16-byte digest of the arguments (see `fingerprint`), in their place. */
  argsDigest?: Uint8Array | undefined;
  /** Names the call within the run. Without one, calls are numbered `c1`, `c2`, … */
  callId?: string | undefined;
  /** Tells polls and sends apart where the arguments come as a digest. */
  action?: string | undefined;
}

/** What a call came to. */
interface Ending {
  /** How it ended; absent: nobody said. */
  status?: Status | undefined;
  /** What the tool returned, as JSON text. */
  result?: JsonText | undefined;
  /** The 16-byte digest of the result, in its place; compared only with other such digests of the run. */
  resultDigest?: Uint8Array | undefined;
  /** The error as JSON text; a message is a JSON string. */
  error?: JsonText | undefined;
  /** A private outcome as JSON text, that stands for the result in comparisons. */
  private?: JsonText | undefined;
}

/** How a call ended. */
export interface Outcome extends Ending {
  /** Names the call. Absent: the oldest admitted call without outcome. */
  callId?: string | undefined;
}

/** A call that already happened, with its outcome. */
export interface CallRecord extends Ending, Omit<Call, "callId"> {}

/** Why the guard says what it says. */
export interface Finding {
  detector: string;
  level: Level;
  /** What was counted, and the count from which on the detector speaks. */
  count: number;
  threshold: number;
  /** The other tool of a ping-pong. */
  pairedTool: string;
  /** The calls that are the evidence, oldest first; those told by `record` have none. */
  callIds: string[];
  /** The digests that repeat; empty where they vary. */
  argsDigest: Uint8Array;
  outcomeDigest: Uint8Array;
  /** The kinds of volatile text that were left out to find the outcomes equal. */
  stripped: string[];
  /** What would end the finding. */
  clearedBy: string;
}

/** What the guard says of a call or an outcome. */
export interface Verdict {
  callId: string;
  action: Action;
  finding?: Finding;
  /** Text for the model; never quotes arguments or results. */
  note: string;
  /** The call for whose sake this one was blocked. */
  blockedBy: string;
  scope?: Scope;
  /** What was odd about the JSON. */
  flags: JsonFlag[];
}

/** The keys of `tools.loopDetection`, as they stand in a configuration file; what is absent is not set. */
export interface LoopDetectionConfig {
  enabled?: boolean | null;
  historySize?: number | bigint | null;
  warningThreshold?: number | bigint | null;
  criticalThreshold?: number | bigint | null;
  unknownToolThreshold?: number | bigint | null;
  globalCircuitBreakerThreshold?: number | bigint | null;
  detectors?: {
    genericRepeat?: boolean | null;
    knownPollNoProgress?: boolean | null;
    pingPong?: boolean | null;
  } | null;
  postCompactionGuard?: { windowSize?: number | bigint | null } | null;
  failOpen?: boolean | null;
}

/** What a server accepts. */
export interface Limits {
  messageBytes: number;
  frameBytes: number;
  callsPerBatch: number;
  /** The answers kept for resending, and so the frames that may wait for an answer. */
  inFlight: number;
  historySize: number;
  framesPerMessage: number;
  recordsPerHistory: number;
}

/** What the guard says to a run that is opened. */
export interface Opened {
  runId: string;
  /** Counts how often the run was opened. */
  epoch: bigint;
  /** The last frame that the guard had seen of the run. */
  lastSeq: bigint;
  /** The effective configuration. */
  config: LoopDetectionConfig;
  profile: string;
  mode: Mode;
  limits: Limits;
  digestScheme: number;
  serverVersion: string;
  /** The run was told again from its newest calls. */
  rebuilt: boolean;
}

/** How to open a run. */
export interface RunOptions {
  /** Picks the agent's block of the server's configuration. */
  agentId?: string;
  /** Names the run that started this one. */
  parentRunId?: string;
  /** Overrides the agent's and the global block, key by key. */
  config?: LoopDetectionConfig;
  mode?: Mode;
  /** The set of detectors and thresholds; the server's default if absent. */
  profile?: string;
  /** `DIGEST_SCHEME`, if digests are sent in place of JSON. */
  digestScheme?: number;
  /** Continue the run if the server has it. Otherwise a run of that id is replaced by an empty one. */
  resume?: boolean;
}
