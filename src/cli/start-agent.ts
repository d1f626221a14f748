import { Agent } from '../agent/agent.ts';
import { Bfd } from '../bfd/index.ts';
import { Speaker } from '../bgp/index.ts';
import { listHostFilters } from '../dataplane/host/filter-commands.ts';
import { KubeProxyForwarding } from '../dataplane/kube-proxy/kube-proxy.ts';
import { limits as localhostLimits } from '../dataplane/localhost/limits.ts';
import { LocalhostDataplane } from '../dataplane/localhost/localhost-dataplane.ts';
import { NftablesDataplane } from '../dataplane/nftables/nftables.ts';
import { machinePorts } from '../dataplane/nftables/ports.ts';
import { isSubdomainName } from '../model/parse/metadata.ts';
import { reason, says } from '../model/reasons.ts';
import { systemHost } from '../system/host.ts';
import { listenHttp } from '../system/http-listener.ts';
import { tcpForwarding } from '../system/tcp-forwarder.ts';
import type { Log } from '../system/log.ts';
import { UsageError, type Environment } from './environment.ts';
import type { AgentProcessOptions } from './options.ts';
import type { Running } from './run-until-stopped.ts';
import type { Workplace } from './workplace.ts';

export async function startAgent(
  environment: Environment,
  workplace: Workplace,
  { node, bgpListen, healthzBindAddress, kernelSettings, onStop }: AgentProcessOptions & { readonly node: string },
  log: Log,
): Promise<Running> {
  const { clock, random } = environment;
  const { source } = workplace;
  // The name becomes part of a path.
  if (!isSubdomainName(node)) throw new UsageError(`"${node}" is no name of a Node: it must be an RFC 1123 subdomain, such as node-1`);
  if (!source.snapshot.nodes.has(node)) log.warn({ node, reason: says(reason('NodeUnknown', { node })) }, 'unknown node');
  const { writeNodeState, release } = await workplace.takeNode(node);
  const host = systemHost();
  const dataplane = new LocalhostDataplane(
    new NftablesDataplane(machinePorts(clock, log, { own: true })),
    { forwardTcp: tcpForwarding(localhostLimits.connections), clock, log },
    () => host.interfaces().map(({ address }) => address),
  );
  const foreign = new KubeProxyForwarding(clock, { legacyTables: (family) => host.legacyTables(family) });
  // Asked when a session begins, which is after the data plane has looked into the kernel.
  const listen = bgpListen === undefined ? {} : { listen: bgpListen };
  const foreignKept = (): boolean => source.snapshot.config.services !== 'all' && foreign.view.seen;
  const speaker = new Speaker({ clock, random, log, ...listen, restarted: () => dataplane.adopted || foreignKept() });
  const agent = new Agent(
    {
      source,
      dataplane,
      unservedLocalhost: () => dataplane.unserved(),
      speaker,
      startBfd: () => new Bfd({ realTime: true }),
      writeNodeState,
      listenHttp,
      host,
      foreign,
      hostFilters: () => listHostFilters((family) => host.legacyTables(family)),
      clock,
      random,
      log,
    },
    { node, listenForPassivePeers: bgpListen === undefined, healthz: healthzBindAddress, kernelSettings },
  );
  await agent.start();
  return {
    stop: async () => {
      await agent.stop('agent stopped', onStop);
      await release();
    },
  };
}
