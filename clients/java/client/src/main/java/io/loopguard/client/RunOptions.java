package io.loopguard.client;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import io.loopguard.digest.Digest;
import io.loopguard.v1.LoopDetectionConfig;
import io.loopguard.v1.RunOpen;

/** What a run is opened with. */
public final class RunOptions {
  private static final RunOptions DEFAULTS = builder().build();

  private final RunOpen request;
  private final boolean digests;

  private RunOptions(RunOpen request, boolean digests) {
    this.request = request;
    this.digests = digests;
  }

  /**
   * Returns options that leave everything to the server's configuration.
   *
   * @return the options
   */
  public static RunOptions defaults() {
    return DEFAULTS;
  }

  /**
   * Begins options.
   *
   * @return their builder
   */
  public static Builder builder() {
    return new Builder();
  }

  RunOpen request(String runId) {
    return request.toBuilder().setRunId(runId).build();
  }

  boolean hashes() {
    return digests;
  }

  /** Builds {@link RunOptions}. */
  public static final class Builder {
    private final RunOpen.Builder request = RunOpen.newBuilder();
    private boolean digests;

    private Builder() {}

    /**
     * Picks the agent's block of the server's configuration.
     *
     * @param agentId names the agent
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder agent(String agentId) {
      request.setAgentId(agentId);
      return this;
    }

    /**
     * Names the run that started this one.
     *
     * @param runId its id
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder parentRun(String runId) {
      request.setParentRunId(runId);
      return this;
    }

    /**
     * Overrides the agent's and the server's configuration, key by key.
     *
     * @param config the keys
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder config(LoopDetectionConfig config) {
      request.setConfig(config);
      return this;
    }

    /**
     * Overrides the agent's and the server's configuration, key by key.
     *
     * @param json the keys as they stand under {@code tools.loopDetection} of a configuration file;
     *     null is absent
     * @return this builder
     * @throws InvalidConfigException if that can't be sent; whether the values fit is for the guard
     *     to say
     */
    @CanIgnoreReturnValue
    public Builder config(String json) {
      return config(JsonConfig.parse(json));
    }

    /**
     * Says whether verdicts are held against the run; they are unless this is used.
     *
     * @param mode the mode
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder mode(Mode mode) {
      request.setMode(io.loopguard.v1.Mode.valueOf("MODE_" + mode.name()));
      return this;
    }

    /**
     * Names the set of detectors and thresholds.
     *
     * @param profile its name
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder profile(String profile) {
      request.setProfile(profile);
      return this;
    }

    /**
     * Sends digests in place of arguments and results, see {@link Call#hashed} and {@link
     * Outcome#hashed}. The guard then can apply none of its rules for outcomes.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder digests() {
      digests = true;
      return digestScheme(Digest.SCHEME);
    }

    /**
     * Names the version of the canonical scheme behind digests that the caller computes; a guard
     * with another one refuses the run.
     *
     * @param version such as {@link Digest#SCHEME}
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder digestScheme(int version) {
      request.setDigestScheme(version);
      return this;
    }

    /**
     * Takes up a run that another client has left.
     *
     * @return this builder
     */
    @CanIgnoreReturnValue
    public Builder resume() {
      request.setResume(true);
      return this;
    }

    /**
     * Returns the options.
     *
     * @return the options
     */
    public RunOptions build() {
      return new RunOptions(request.build(), digests);
    }
  }
}
