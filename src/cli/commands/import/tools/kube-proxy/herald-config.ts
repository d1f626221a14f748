import { loadBalancingNames, loadBalancingOf } from '../../../../../model/objects/load-balancing.ts';
import { parsePrefixLeniently } from '../../../../../net/prefix.ts';
import { poolRange } from '../reading/blocks.ts';
import { manifest, type Manifest } from '../tool.ts';
import type { SettingsReader } from './reader.ts';

const modes = ['iptables', 'ipvs', 'nftables'] as const;
type Mode = (typeof modes)[number];

/** Makes HeraldConfig/default of kube-proxy's settings. Undefined: they are for Windows. */
export function heraldConfigOf(settings: SettingsReader): Manifest | undefined {
  const mode = modeOf(settings);
  if (mode === undefined) return undefined;
  const section = mode === 'nftables' ? 'nftables' : 'iptables';
  const spec = {
    services: 'all',
    ...pods(settings),
    ...nodePorts(settings, mode),
    masqueradeAll: settings.flag(`${section}.masqueradeAll`) === true ? true : undefined,
    masqueradeBit: settings.number(`${section}.masqueradeBit`),
    loadBalancing: mode === 'ipvs' ? scheduler(settings) : undefined,
    conntrack: conntrack(settings, mode),
  };
  const other = section === 'nftables' ? 'iptables' : 'nftables';
  const noEffect = `has no effect in ${mode} mode, and is left out`;
  settings.unused(noEffect, `${other}.masqueradeAll`, `${other}.masqueradeBit`);
  if (mode !== 'ipvs') settings.unused(noEffect, 'ipvs.scheduler', 'ipvs.tcpTimeout', 'ipvs.udpTimeout');
  if (mode !== 'iptables') settings.unused(noEffect, 'iptables.localhostNodePorts');
  settings.note(
    'mode',
    `is ${mode}: the HeraldConfig has services: all, so Herald forwards every Service in place of kube-proxy`,
    'apply it in step 2 of docs/how-to/migrate-from-kube-proxy.md; until then set services: external',
  );
  return manifest('HeraldConfig', 'default', spec);
}

function modeOf(settings: SettingsReader): Mode | undefined {
  const written = settings.text('mode') ?? 'iptables';
  const mode = modes.find((one) => one === written);
  if (mode !== undefined) return mode;
  if (written === 'userspace') {
    settings.note('mode', 'is userspace, which kube-proxy no longer has: it is read as iptables');
    return 'iptables';
  }
  settings.refuse(
    'mode',
    `is ${written.slice(0, 63)}: no HeraldConfig is written, because Herald replaces only the modes ${modes.join(', ')} of Linux`,
    'keep kube-proxy on nodes with Windows',
  );
  return undefined;
}

function pods(settings: SettingsReader): object {
  const mode = settings.text('detectLocalMode') ?? 'ClusterCIDR';
  const noEffect = `has no effect with detectLocalMode ${mode.slice(0, 63)}, and is left out`;
  const [bridge, prefix] = ['detectLocal.bridgeInterface', 'detectLocal.interfaceNamePrefix'];
  if (mode !== 'ClusterCIDR') settings.unused(noEffect, 'clusterCIDR');
  if (mode !== 'BridgeInterface') settings.unused(noEffect, bridge);
  if (mode !== 'InterfaceNamePrefix') settings.unused(noEffect, prefix);
  switch (mode) {
    case 'ClusterCIDR': {
      const podCIDRs = (settings.text('clusterCIDR') ?? '').split(',').filter((one) => one.trim() !== '');
      return podCIDRs.length === 0 ? {} : { podCIDRs: podCIDRs.map(poolRange) };
    }
    case 'NodeCIDR':
      return {};
    case 'BridgeInterface':
      return { podInterfaces: interfaceOf(settings, bridge, '') };
    case 'InterfaceNamePrefix':
      return { podInterfaces: interfaceOf(settings, prefix, '*') };
    default:
      settings.lose('detectLocalMode', `is ${mode.slice(0, 63)}, which is not known`, 'set podCIDRs or podInterfaces in HeraldConfig');
      return {};
  }
}

function interfaceOf(settings: SettingsReader, field: string, end: '' | '*'): readonly string[] | undefined {
  const name = settings.text(field);
  return name === undefined ? undefined : [name + end];
}

const everything = { 4: '0.0.0.0/0', 6: '::/0' } as const;
const keywords: Readonly<Record<string, readonly string[]>> = { all: Object.values(everything), localhost: ['127.0.0.0/8', '::1/128'] };

function nodePorts(settings: SettingsReader, mode: Mode): object {
  const written = settings.list('nodePortAddresses');
  const [cidrs, local] = readAddresses(written.filter((one) => one !== 'primary'));
  const isPrimary = written.includes('primary') || (written.length === 0 && mode === 'nftables');
  if (isPrimary && cidrs.length > 0)
    settings.lose(
      'nodePortAddresses',
      'has primary beside networks: HeraldConfig has either the InternalIPs of the Nodes or networks',
      "add the networks of the nodes' InternalIPs to nodePortAddresses of HeraldConfig",
    );
  const localhostNodePorts = onLoopback(settings, mode, local.length > 0) ? true : undefined;
  return { nodePortAddresses: isPrimary && cidrs.length === 0 ? undefined : bothFamilies(settings, cidrs), localhostNodePorts };
}

/** Returns the networks, and those of loopback. */
function readAddresses(written: readonly string[]): readonly [cidrs: string[], local: string[]] {
  const all = [...new Set(written.flatMap((one) => keywords[one] ?? [poolRange(one)]))];
  const isLocal = (one: string): boolean => /^127\.|^::1\/128$/.test(one);
  return [all.filter((one) => !isLocal(one)), all.filter(isLocal)];
}

/** In kube-proxy a family without a network accepts NodePorts at every address. */
function bothFamilies(settings: SettingsReader, cidrs: readonly string[]): readonly string[] {
  const missing = ([4, 6] as const).filter((family) => !cidrs.some((one) => familyOf(one) === family)).map((family) => everything[family]);
  if (missing.length === 1 && cidrs.length > 0)
    settings.note(
      'nodePortAddresses',
      `has no network of one family, for which kube-proxy accepts NodePorts at every address: ${missing.join()} is added`,
      'remove it from nodePortAddresses of HeraldConfig if that is not meant',
    );
  return [...cidrs, ...missing];
}

function familyOf(cidr: string): 4 | 6 | undefined {
  const prefix = parsePrefixLeniently(cidr);
  return prefix.ok ? prefix.value.address.family : undefined;
}

function onLoopback(settings: SettingsReader, mode: Mode, isListed: boolean): boolean {
  if (mode === 'ipvs') return false;
  if (mode === 'nftables') return isListed;
  const written = settings.flag('iptables.localhostNodePorts');
  if (written === undefined && !isListed)
    settings.note(
      'iptables.localhostNodePorts',
      'is not set, so programs on the node reach NodePorts at 127.0.0.1 through kube-proxy',
      'set localhostNodePorts: true in HeraldConfig if one of them does: TCP only',
    );
  return written ?? isListed;
}

function scheduler(settings: SettingsReader): string | undefined {
  const written = settings.text('ipvs.scheduler') ?? 'rr';
  const found = loadBalancingOf(written);
  if (found === undefined)
    settings.lose(
      'ipvs.scheduler',
      `is ${written.slice(0, 63)}, which Herald does not have: endpoints are chosen at random`,
      `set loadBalancing in HeraldConfig, or herald.dev/load-balancing on Services, to one of ${loadBalancingNames.join(', ')}`,
    );
  return found;
}

/** Defaults of kube-proxy and HeraldConfig, and of IPVS in the kernel. */
const establishedSeconds = 86_400;
const ipvsUdpSeconds = 300;

function conntrack(settings: SettingsReader, mode: Mode): object | undefined {
  const udp = mode === 'ipvs' ? ipvsUdp(settings) : undefined;
  const established = settings.seconds('conntrack.tcpEstablishedTimeout', 'is a value');
  const spec = {
    maxPerCore: settings.number('conntrack.maxPerCore'),
    min: settings.number('conntrack.min'),
    tcpEstablishedSeconds: mode === 'ipvs' ? ipvsTcp(settings, established) : established,
    tcpCloseWaitSeconds: settings.seconds('conntrack.tcpCloseWaitTimeout', 'is a value'),
    udpSeconds: settings.seconds('conntrack.udpTimeout', 'means unset') ?? udp,
    udpStreamSeconds: settings.seconds('conntrack.udpStreamTimeout', 'means unset') ?? udp,
  };
  const set = Object.entries(spec).filter(([, value]) => value !== undefined);
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

function ipvsUdp(settings: SettingsReader): number | undefined {
  const seconds = settings.seconds('ipvs.udpTimeout', 'means unset');
  if (seconds === undefined)
    settings.note(
      'ipvs.udpTimeout',
      `is not set, so IPVS keeps a UDP flow with its endpoint for ${ipvsUdpSeconds} s of silence, the kernel's connection table for 30 s without and 120 s with answers`,
      `set udpSeconds and udpStreamSeconds of conntrack in HeraldConfig to ${ipvsUdpSeconds} if a protocol needs that`,
    );
  return seconds;
}

function ipvsTcp(settings: SettingsReader, established: number | undefined): number | undefined {
  const seconds = settings.seconds('ipvs.tcpTimeout', 'means unset');
  if (seconds === undefined) return established;
  if (established === undefined && seconds > establishedSeconds) return seconds;
  const kept = established ?? establishedSeconds;
  if (seconds < kept)
    settings.lose(
      'ipvs.tcpTimeout',
      `is ${seconds} s: with Herald an idle TCP connection is kept for ${kept === 0 ? 'the time that the host has' : `${kept} s`}`,
      `nothing is needed for most; tcpEstablishedSeconds: ${seconds} of conntrack in HeraldConfig sets it for all connections of the node`,
    );
  return established;
}
