/** What a client is made with. */
import type { ChannelCredentials, ChannelOptions } from "@grpc/grpc-js";

/** What a client does when no guard answers in time. */
export type OnUnavailable = "allow" | "block" | "wait";

/** Where a client tells what nobody waits for; `console` fits. */
export interface Logger {
  warn(message: string): void;
}

/** TLS with other than the system's roots, and the client's own certificate for mutual TLS; all in PEM. */
export interface TlsOptions {
  ca?: string | Uint8Array;
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
  /** The name that the server's certificate has to be for, where it isn't the target's. */
  serverName?: string;
}

export interface GuardClientOptions {
  /** How long a call may wait for its verdict before `onUnavailable` says what to do; 250. */
  deadlineMs?: number;
  /**
   * What becomes of a call without an answer in time: it runs (`allow`, the default), doesn't run (`block`), or waits for
   * the guard (`wait`).
   */
  onUnavailable?: OnUnavailable;
  /** Carry all runs over one stream, many frames a message: what a gateway with many runs wants. */
  many?: boolean;
  /**
   * Sent as `authorization: Bearer …`; a function is asked for each stream. Refused without `tls` or `credentials`, unless
   * the guard is on this machine.
   */
  token?: string | (() => string);
  /** Speak TLS; `true` with the system's roots. */
  tls?: boolean | TlsOptions;
  /** gRPC's own credentials, in place of `tls`. */
  credentials?: ChannelCredentials;
  /** More metadata for each stream. */
  metadata?: Readonly<Record<string, string>>;
  /** More of gRPC's own options. */
  channelOptions?: ChannelOptions;
  /** How many frames of a run are kept for a lost server, and how many bytes; 1,000 and 8 MiB. */
  bufferFrames?: number;
  bufferBytes?: number;
  /** Where warnings go; `console`. */
  logger?: Logger;
  /** A monotonic clock in milliseconds, and a source of randomness in [0, 1); for tests. */
  now?: () => number;
  random?: () => number;
}

/** The options with all defaults filled in. */
export type Settings = Required<
  Pick<
    GuardClientOptions,
    "deadlineMs" | "onUnavailable" | "many" | "bufferFrames" | "bufferBytes" | "logger" | "now" | "random"
  >
>;

const POLICIES: readonly string[] = ["allow", "block", "wait"] satisfies OnUnavailable[];

/** Fill in the defaults. Throws `TypeError` or `RangeError` for options that make no sense. */
export function settingsOf(options: GuardClientOptions): Settings {
  const settings: Settings = {
    deadlineMs: options.deadlineMs ?? 250,
    onUnavailable: options.onUnavailable ?? "allow",
    many: options.many ?? false,
    bufferFrames: options.bufferFrames ?? 1000,
    bufferBytes: options.bufferBytes ?? 8 << 20,
    logger: options.logger ?? console,
    now: options.now ?? (() => performance.now()),
    random: options.random ?? Math.random,
  };
  if (!POLICIES.includes(settings.onUnavailable)) {
    throw new TypeError(`\`onUnavailable\` is \`${settings.onUnavailable}\`, not one of ${POLICIES.join(", ")}`);
  }
  for (const key of ["deadlineMs", "bufferFrames", "bufferBytes"] as const) {
    if (!(settings[key] >= 0)) throw new RangeError(`\`${key}\` is ${settings[key]}, not a number of at least 0`);
  }
  return settings;
}
