/** Client of loopguard: asks, call by call, whether an agent is stuck. */
export { GuardClient } from "./client.js";
export { DIGEST_BYTES, DIGEST_SCHEME, type Inspection, canonicalize, fingerprint, inspect } from "./digest.js";
export {
  GuardUnavailableError,
  InvalidConfigError,
  InvalidFrameError,
  LoopguardError,
  type Reason,
  RunRefusedError,
} from "./errors.js";
export type { JsonFlag } from "./json/flags.js";
export type { JsonText } from "./json/text.js";
export type * from "./model.js";
export type { GuardClientOptions, Logger, OnUnavailable, TlsOptions } from "./options.js";
export { type CallOptions, GuardRun } from "./run.js";
