/**
 * A client of loopguard, the service that tells an agent gateway, call by call, whether an agent is
 * stuck.
 *
 * <p>A {@link io.loopguard.client.GuardClient} opens runs. For each model response the gateway has
 * its tool calls judged as one batch before any of them runs, and reports how each one ended. A
 * client survives lost streams and servers: it connects again, resumes its runs, and sends what the
 * guard has not seen. A gateway is never held up by a guard that is away: a call without an answer
 * in time is decided by {@link io.loopguard.client.OnUnavailable}.
 */
package io.loopguard.client;
