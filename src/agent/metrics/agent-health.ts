import type { Clock } from '../../system/clock.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import { limits } from '../../telemetry/limits.ts';
import type { AgentStatus } from '../agent-observer.ts';

/**
 * An agent is ready once the kernel has taken a pass over everything, and while it goes on taking changes. It hangs when one pass does not
 * end: a data plane that refuses, a router or an API server that is away are no reason to begin anew.
 */
export function agentHealth(
  status: () => Pick<AgentStatus, 'hasSynced' | 'keepsUp' | 'dataplaneError' | 'passSince'>,
  clock: Clock,
): HealthCheck {
  return {
    name: 'forwarding',
    live: () => {
      const { passSince } = status();
      const lasted = passSince === undefined ? 0 : clock.now() - passSince;
      return lasted < limits.stuckMilliseconds ? undefined : `a pass has been running for ${Math.floor(lasted / 1000)} s`;
    },
    ready: () => {
      const { hasSynced, keepsUp, dataplaneError } = status();
      if (dataplaneError !== undefined) return `the data plane took no change: ${dataplaneError}`;
      if (!hasSynced) return 'the first pass has not been committed yet';
      return keepsUp ? undefined : 'changes have been waiting for the kernel for too long';
    },
  };
}
