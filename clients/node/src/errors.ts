/** What can go wrong: the caller's mistakes, and the guard's. */

/** Why a frame, a run or a stream was refused; the names of the wire's `ErrorReason`. */
export type Reason =
  | "INVALID_FRAME"
  | "UNKNOWN_CALL"
  | "DUPLICATE_CALL"
  | "EMPTY_TOOL"
  | "TOO_LARGE"
  | "TOO_MANY_CALLS"
  | "ANSWER_EXPIRED"
  | "INVALID_CONFIG"
  | "UNSUPPORTED_SCHEME"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAUTHENTICATED"
  | "LIMIT_EXCEEDED"
  | "SHUTTING_DOWN"
  | "SUPERSEDED";

/** Root of everything that this package throws by itself, but `TypeError`. */
export class LoopguardError extends Error {
  override name = "LoopguardError";
}

/** A frame that is refused; the run goes on as if it had not come. */
export class InvalidFrameError extends LoopguardError {
  override name = "InvalidFrameError";

  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

/** A configuration that is refused; `key` is a path like `postCompactionGuard.windowSize`. */
export class InvalidConfigError extends InvalidFrameError {
  override name = "InvalidConfigError";

  constructor(
    readonly key: string,
    message: string,
  ) {
    super("INVALID_CONFIG", message);
  }
}

/** No guard answered: only thrown where the client may not decide by itself. */
export class GuardUnavailableError extends LoopguardError {
  override name = "GuardUnavailableError";
}

/** The guard refused the run, or has it no longer; `reason` is the wire's. */
export class RunRefusedError extends LoopguardError {
  override name = "RunRefusedError";

  constructor(
    readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

/** A refusal as it comes over the wire: gRPC's code, the reason and, for a configuration, the key. */
export interface Refusal {
  code: number;
  reason: string;
  message: string;
  key: string;
}

/** Refusals that blame what a frame says. */
const MISTAKES: ReadonlySet<string> = new Set<Reason>([
  "INVALID_FRAME",
  "UNKNOWN_CALL",
  "DUPLICATE_CALL",
  "EMPTY_TOOL",
  "TOO_LARGE",
  "TOO_MANY_CALLS",
]);
/** Refusals that say that the guard could not do its work. */
const FAILURES: ReadonlySet<string> = new Set<Reason>(["INTERNAL", "ANSWER_EXPIRED"]);

/** Return what to throw for a refusal. */
export function errorOf(refusal: Refusal): LoopguardError {
  if (refusal.reason === "INVALID_CONFIG") return new InvalidConfigError(refusal.key, refusal.message);
  if (FAILURES.has(refusal.reason)) return new GuardUnavailableError(refusal.message);
  if (MISTAKES.has(refusal.reason)) return new InvalidFrameError(refusal.reason as Reason, refusal.message);
  return new RunRefusedError(refusal.reason, refusal.message);
}
