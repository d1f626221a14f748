import { reasonText } from '../../model/reasons.ts';
import type { Clock } from '../../system/clock.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import { limits } from '../../telemetry/limits.ts';
import type { AgentStatus } from '../agent-observer.ts';

/**
 * Returns the health check of an agent. It is ready once the kernel has committed a pass over everything, and while the kernel keeps taking
 * changes, and if it runs on the host of its Node. It is not live if a pass does not end. A data plane that refuses, a missing router or
 * API server are no reason for a restart.
 */
export function agentHealth(
  status: () => Pick<AgentStatus, 'hasSynced' | 'keepsUp' | 'dataplaneError' | 'passSince' | 'host'>,
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
      const { hasSynced, keepsUp, dataplaneError, host } = status();
      if (dataplaneError !== undefined) return `the data plane took no change: ${dataplaneError}`;
      if (!hasSynced) return 'the first pass has not been committed yet';
      const mismatch = host.find(({ code }) => code === 'NodeNotThisHost' || code === 'NodeUnknown');
      if (mismatch !== undefined) return reasonText(mismatch);
      return keepsUp ? undefined : 'changes have been waiting for the kernel for too long';
    },
  };
}
