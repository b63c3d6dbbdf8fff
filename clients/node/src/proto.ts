/** The messages and services of the protocol, for those who want to speak it themselves; generated code. */
export * from "./gen/loopguard/v1/error_reason_pb.js";
export * from "./gen/loopguard/v1/guard_pb.js";
