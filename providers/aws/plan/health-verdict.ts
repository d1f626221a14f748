import { problemLine } from '../../../src/decisions/verdict/verdict-text.ts';
import type { Verdict } from '../../../src/decisions/verdict/verdict.ts';
import { defined } from '../../../src/lang/defined.ts';
import { reason, type Reason } from '../../../src/model/reasons.ts';
import { formatTime } from '../../../src/model/time.ts';
import type { PortHealth } from './target-health.ts';

const isDead = ({ targets, healthy, unknown }: PortHealth): boolean => targets > 0 && healthy === 0 && unknown === 0;

/** The ports behind which AWS finds no healthy target. Undefined: there is none, or AWS does not know yet. */
export function whyUnhealthy(ports: readonly PortHealth[]): Reason | undefined {
  const dead = ports.filter(isDead);
  if (dead.length === 0) return undefined;
  const why = [...new Set(dead.flatMap(({ causes }) => causes))].toSorted();
  return reason('AwsTargetsUnhealthy', {
    ports: dead.map(({ port }) => port).join(', '),
    all: dead.length === ports.length,
    why: why.join('; '),
  });
}

/**
 * Says what AWS' health checks show of the targets. `now`: when AWS was asked, in milliseconds since the epoch. Undefined: no port of the
 * Service is on a load balancer that its status names, or one has no target.
 */
export function healthVerdict(ports: readonly PortHealth[], now: number): Verdict | undefined {
  if (ports.length === 0 || ports.some(({ targets }) => targets === 0)) return undefined;
  const seen = `${ports.map(portText).join('; ')} (AWS, ${formatTime(now)})`;
  const unhealthy = whyUnhealthy(ports);
  if (unhealthy !== undefined) {
    const isTotal = ports.every(isDead);
    const { line, fix } = problemLine(isTotal ? 'Not served' : 'Not fully served', seen, unhealthy);
    return { outcome: isTotal ? 'notServed' : 'partly', line, code: unhealthy.code, ...defined({ fix }) };
  }
  if (ports.every(({ healthy }) => healthy > 0)) return { outcome: 'served', line: `Served: ${seen}.` };
  return { outcome: 'announced', line: `Announced, not checked: ${seen}.` };
}

/** "2 of 3 targets of port 80/TCP are healthy, none in us-east-1b: unhealthy: Health checks failed". */
function portText({ port, targets, healthy, unknown, why, zonesWithout }: PortHealth): string {
  const share = `${healthy} of ${targets} targets of port ${port} are healthy`;
  const zones = zonesWithout.length === 0 || healthy === 0 ? '' : `, none in ${zonesWithout.join(', ')}`;
  const pending = unknown === 0 ? '' : `, ${unknown} not checked yet`;
  return `${share}${zones}${pending}${why.length === 0 ? '' : ` [${why.join('; ')}]`}`;
}
