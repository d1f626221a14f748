import { defined } from '../lang/defined.ts';
import { formatAddress } from '../net/address.ts';
import { formatPrefix } from '../net/prefix.ts';
import { interfaceAddressText, type ChecksReport, type NodeState } from './objects/node-state.ts';
import { reasonText, type Reason } from './reasons.ts';
import type { WrittenRelease } from './parse/released-address.ts';
import type { Ingress } from './objects/service.ts';

/** The reverse of parsing, for objects that Herald writes: plain data in the shape of the API. */

export function nodeStateManifest(state: NodeState): object {
  const { updated, version, writer, pod, consumed, sessions, differing, truncated, problem, host, heldBack, drain, directReturn, links } =
    state;
  return {
    apiVersion: 'herald.dev/v1alpha1',
    kind: 'NodeState',
    metadata: { name: state.metadata.name },
    status: {
      updated,
      ...defined({ version, writer, pod }),
      consumed: { ...consumed },
      sessions: sessions.map(({ cause, warning, ...session }) => ({
        ...session,
        ...defined({ cause: cause && reasonManifest(cause), warning: warning && reasonManifest(warning) }),
      })),
      differing: differing.map(({ service, aspect, reason }) => ({ service, aspect, reason: reasonManifest(reason) })),
      ...defined({
        truncated,
        problem: problem && reasonManifest(problem),
        host: host?.map(reasonManifest),
        heldBack: heldBack?.map((held) => ({ ...held, reason: reasonManifest(held.reason) })),
        drain,
        directReturn: directReturn && { ...directReturn, networks: directReturn.networks.map(formatPrefix) },
        links: links?.map((link) => ({ ...link, networks: link.networks.map(formatPrefix), addresses: link.addresses.map(formatAddress) })),
        interfaces: state.interfaces?.map(({ name, addresses }) => ({ name, addresses: addresses.map(interfaceAddressText) })),
        routers: state.routers?.map(formatAddress),
        claims: state.claims,
        checks: state.checks && checksManifest(state.checks),
      }),
    },
  };
}

function checksManifest({ problem, failing, ...checks }: ChecksReport): object {
  return {
    ...checks,
    ...(problem === undefined ? {} : { problem: reasonManifest(problem) }),
    failing: failing.map((one) => ({ ...one, reason: reasonManifest(one.reason) })),
  };
}

/** The message is for readers of another version, whose catalogue may lack the code. */
function reasonManifest(reason: Reason): object {
  return { code: reason.code, details: reason.details, message: reasonText(reason) };
}

/** Returns status.loadBalancer.ingress as core/v1 defines it. */
export function ingressManifest(ingress: readonly Ingress[]): object[] {
  return ingress.map(({ address, hostname, ipMode }) => ({
    ...(address === undefined ? {} : { ip: formatAddress(address) }),
    ...defined({ hostname }),
    // The API allows ipMode only together with ip.
    ...(address === undefined ? {} : { ipMode }),
  }));
}

/** Fields of a status other than its conditions. A bigint is an int64 of the API that may exceed the safe integers of JavaScript. */
export type ObjectFields = Readonly<Record<string, number | bigint | string | readonly string[] | readonly WrittenRelease[]>>;
