import { sameAddress } from '../../net/address.ts';
import type { Backend, Frontend, ServiceForwarding } from '../../net/frontend.ts';

/** The forwarding of a Service before and after a change. */
export interface ForwardingChange {
  readonly before: ServiceForwarding;
  readonly after: ServiceForwarding;
}

/** Returns true if nothing changed that a user would notice: same frontends, same backends. */
export function sameForwarding({ frontends: a }: ServiceForwarding, { frontends: b }: ServiceForwarding): boolean {
  return a.length === b.length && a.every((frontend, index) => sameFrontend(frontend, b[index]));
}

/** Describes a change: "2 frontends, 3 endpoints (before: 2)". Endpoints are counted by address. */
export function programmedText({ before, after }: ForwardingChange): string {
  const [then, now] = [endpoints(before), endpoints(after)];
  if (after.frontends.length === 0) return `the rules of ${counted(before.frontends.length, 'frontend')} are to go`;
  const isFirst = before.frontends.length === 0;
  const sizes = `${counted(after.frontends.length, 'frontend')}, ${counted(now.size, 'endpoint')}`;
  if (isFirst) return sizes;
  const [added, removed] = [now.difference(then).size, then.difference(now).size];
  return `${sizes} (${added} new, ${removed} gone; before: ${counted(before.frontends.length, 'frontend')}, ${counted(then.size, 'endpoint')})`;
}

function sameFrontend(a: Frontend, b: Frontend | undefined): boolean {
  if (b === undefined || a.policy !== b.policy || a.scope !== b.scope) return false;
  const [one, other] = [a.match, b.match];
  if (one.kind !== other.kind || one.port !== other.port || one.protocol !== other.protocol) return false;
  if (one.kind === 'address' && other.kind === 'address' && !sameAddress(one.address, other.address)) return false;
  if (one.kind === 'nodePort' && other.kind === 'nodePort' && one.family !== other.family) return false;
  return sameBackends(a.backends, b.backends) && sameBackends(a.localBackends, b.localBackends);
}

/** Compares backends. Both lists are sorted. */
function sameBackends(a: readonly Backend[], b: readonly Backend[]): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every(({ address: { value }, port }, index) => {
      const other = b[index];
      return other !== undefined && other.address.value === value && other.port === port;
    })
  );
}

function endpoints({ frontends }: ServiceForwarding): Set<string> {
  return new Set(frontends.flatMap(({ backends }) => backends.map(({ address: { family, value } }) => `${family} ${value}`)));
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
