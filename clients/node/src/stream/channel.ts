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
  // Else all channels to one address would share a connection, which takes only so many streams.
  "grpc.use_local_subchannel_pool": 1,
};

/** How many streams go over one channel: fewer than the 1,000 that a server takes. */
const STREAMS_PER_CHANNEL = 900;

/** The name of the trailer that carries a `google.rpc.Status`. */
const STATUS_TRAILER = "grpc-status-details-bin";

const METHODS = { true: LoopGuardService.method.guardMany, false: LoopGuardService.method.guard };

interface Channel {
  client: grpc.Client;
  streams: number;
}

/** The channels of a client to each address: one, and more where one has too many streams. */
export class Channels {
  readonly #channels = new Map<string, Channel[]>();
  readonly #credentials: grpc.ChannelCredentials;
  readonly #channelOptions: grpc.ChannelOptions;
  readonly #path: string;

  /** Throws `TypeError` for a token that would travel in the open to `home`, the client's own address. */
  constructor(
    private readonly home: string,
    private readonly options: GuardClientOptions,
    private readonly streamsPerChannel = STREAMS_PER_CHANNEL,
  ) {
    this.#checkToken(home);
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
    this.#checkToken(target);
    const channels = this.#channels.get(target) ?? [];
    let channel = channels.find(({ streams }) => streams < this.streamsPerChannel);
    if (channel === undefined) {
      channel = { client: new grpc.Client(target, this.#credentials, this.#channelOptions), streams: 0 };
      this.#channels.set(target, [...channels, channel]);
    }
    const used = channel;
    const stream = used.client.makeBidiStreamRequest(this.#path, asBuffer, (data) => data, this.#metadata(metadata));
    used.streams++;
    stream.on("status", () => {
      this.#release(target, used);
    });
    return stream;
  }

  /** Close a channel that has no stream any more; the first one to the client's own address stays. */
  #release(target: string, channel: Channel): void {
    if (--channel.streams > 0) return;
    const channels = this.#channels.get(target) ?? [];
    if (target === this.home && channels[0] === channel) return;
    channel.client.close();
    const left = channels.filter((other) => other !== channel);
    if (left.length > 0) this.#channels.set(target, left);
    else this.#channels.delete(target);
  }

  #checkToken(target: string): void {
    const { token, tls, credentials } = this.options;
    if (token === undefined || tls || credentials !== undefined || isLocal(target)) return;
    throw new TypeError(`a token would travel in the open to \`${target}\`: use \`tls\``);
  }

  #metadata(more: Record<string, string>): grpc.Metadata {
    const metadata = new grpc.Metadata();
    for (const [name, value] of Object.entries({ ...this.options.metadata, ...more })) metadata.set(name, value);
    const token = typeof this.options.token === "function" ? this.options.token() : this.options.token;
    if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
    return metadata;
  }

  close(): void {
    for (const { client } of [...this.#channels.values()].flat()) client.close();
    this.#channels.clear();
  }
}

function credentialsOf(tls: boolean | TlsOptions): grpc.ChannelCredentials {
  if (tls === false) return grpc.credentials.createInsecure();
  if (tls === true) return grpc.credentials.createSsl();
  return grpc.credentials.createSsl(pem(tls.ca), pem(tls.key), pem(tls.cert));
}

/** Whether a target is on this machine. */
function isLocal(target: string): boolean {
  if (/^unix(-abstract)?:/.test(target)) return true;
  const place = target.slice(target.lastIndexOf("/") + 1);
  return place === "::1" || /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(place.replace(/:\d+$/, ""));
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
