/** gRPC's side: channels to the guard, and streams of bytes on them. */
import * as grpc from "@grpc/grpc-js";

import type { Refusal } from "../errors.js";
import { LoopGuardService } from "../gen/loopguard/v1/guard_pb.js";
import type { GuardClientOptions, TlsOptions } from "../options.js";
import { decodeStatus } from "../wire/answers.js";

/** A stream of encoded messages. */
export type ByteStream = grpc.ClientDuplexStream<Uint8Array, Buffer>;

const CHANNEL_OPTIONS: grpc.ChannelOptions = {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  // gRPC's own back-off goes up to two minutes; ours decides when to try again.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1000,
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.keepalive_permit_without_calls": 1,
  // Frames are kept and sent again by the run; gRPC needn't keep them too.
  "grpc.enable_retries": 0,
};

/** The name of the trailer that carries a `google.rpc.Status`. */
const STATUS_TRAILER = "grpc-status-details-bin";

const METHODS = { true: LoopGuardService.method.guardMany, false: LoopGuardService.method.guard };

/** The channels of a client, one for each address. */
export class Channels {
  readonly #channels = new Map<string, grpc.Client>();
  readonly #credentials: grpc.ChannelCredentials;
  readonly #channelOptions: grpc.ChannelOptions;
  readonly #path: string;

  constructor(private readonly options: GuardClientOptions) {
    this.#credentials = options.credentials ?? credentialsOf(options.tls ?? false);
    const serverName = typeof options.tls === "object" ? options.tls.serverName : undefined;
    this.#channelOptions = {
      ...CHANNEL_OPTIONS,
      ...(serverName === undefined
        ? {}
        : { "grpc.ssl_target_name_override": serverName, "grpc.default_authority": serverName }),
      ...options.channelOptions,
    };
    const { parent, name } = METHODS[`${options.many ?? false}`];
    this.#path = `/${parent.typeName}/${name}`;
  }

  /** Begin a stream. */
  open(target: string, metadata: Record<string, string>): ByteStream {
    let channel = this.#channels.get(target);
    if (channel === undefined) {
      channel = new grpc.Client(target, this.#credentials, this.#channelOptions);
      this.#channels.set(target, channel);
    }
    return channel.makeBidiStreamRequest(this.#path, asBuffer, (data) => data, this.#metadata(metadata));
  }

  #metadata(more: Record<string, string>): grpc.Metadata {
    const metadata = new grpc.Metadata();
    for (const [name, value] of Object.entries({ ...this.options.metadata, ...more })) metadata.set(name, value);
    const token = typeof this.options.token === "function" ? this.options.token() : this.options.token;
    if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
    return metadata;
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
  }
}

function credentialsOf(tls: boolean | TlsOptions): grpc.ChannelCredentials {
  if (tls === false) return grpc.credentials.createInsecure();
  if (tls === true) return grpc.credentials.createSsl();
  return grpc.credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
}

function pem(text: string | Uint8Array | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text);
}

function asBuffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** Return how a stream ended; `undefined` for OK. */
export function refusalOf(status: grpc.StatusObject): Refusal | undefined {
  if (status.code === grpc.status.OK) return undefined;
  const [details] = status.metadata.get(STATUS_TRAILER);
  const refusal = details instanceof Uint8Array ? decodeStatus(details) : undefined;
  return refusal ?? { code: status.code, reason: grpc.status[status.code], message: status.details, key: "" };
}
