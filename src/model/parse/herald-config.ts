import { slotTableSizes, type SlotTableSize } from '../../net/frontend.ts';
import { parseInterfacePattern } from '../../net/interface-pattern.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { compats, directReturnModes, type ConntrackConfig, type HeraldConfig, type ServicesScope } from '../configuration.ts';
import { besideKubeProxyBit, clusterConfig, defaultConfig, defaultConntrack } from '../default-config.ts';
import { limits } from '../limits.ts';
import { isLabelName, readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import type { ParseOptions, Read } from './result.ts';

/** The one object of its kind. */
export function readHeraldConfig(fields: Fields, options: ParseOptions): Read<HeraldConfig> {
  const metadata = readMetadata(fields, 'HeraldConfig', 'cluster', options);
  if (metadata !== undefined && metadata.name !== 'default') {
    fields.problem(['metadata', 'name'], `is "${metadata.name}", and only HeraldConfig/default is read`, 'set metadata.name: default');
  }
  const standalone = options.resourceVersion !== undefined;
  const spec = fields.object('spec');
  const services: ServicesScope = spec.oneOf('services', ['all', 'external', 'none']) ?? 'all';
  const compat = spec.oneOf('compat', compats) ?? defaultConfig.compat;
  const compatNamespace = spec.text('compatNamespace') ?? defaultConfig.compatNamespace;
  const serviceProxyName = spec.text('serviceProxyName');
  const config = {
    podCIDRs: spec.parsedList('podCIDRs', limits.cidrs, parsePrefix),
    podInterfaces: spec.parsedList('podInterfaces', limits.podInterfaces, parseInterfacePattern),
    localhostNodePorts: spec.boolean('localhostNodePorts') ?? defaultConfig.localhostNodePorts,
    icmpEcho: spec.boolean('icmpEcho') ?? defaultConfig.icmpEcho,
    masqueradeAll: spec.boolean('masqueradeAll') ?? defaultConfig.masqueradeAll,
    serviceCIDRs: spec.parsedList('serviceCIDRs', limits.cidrs, parsePrefix),
    nodePortAddresses: spec.parsedList('nodePortAddresses', limits.cidrs, parsePrefix),
    ...(serviceProxyName === undefined ? {} : { serviceProxyName }),
    sourceRangesEverywhere: spec.boolean('sourceRangesEverywhere') ?? defaultConfig.sourceRangesEverywhere,
    ...(spec.has('conntrack') ? { conntrack: readConntrack(spec.object('conntrack')) } : {}),
    masqueradeBit: spec.integer('masqueradeBit', 0, 31) ?? (services === 'all' ? defaultConfig.masqueradeBit : besideKubeProxyBit),
    consistentHashing: spec.boolean('consistentHashing') ?? defaultConfig.consistentHashing,
    hashSlots: readHashSlots(spec),
    loadBalancerClass: spec.text('loadBalancerClass') ?? defaultConfig.loadBalancerClass,
    // What MetalLB without --lb-class serves.
    defaultClass: spec.boolean('defaultClass') ?? (compat === 'metallb' || (standalone ? defaultConfig : clusterConfig).defaultClass),
    compat,
    compatNamespace,
    drainSeconds: spec.integer('drainSeconds', 0, 3600) ?? defaultConfig.drainSeconds,
    directReturn: spec.boolean('directReturn') ?? defaultConfig.directReturn,
    directReturnMode: spec.oneOf('directReturnMode', directReturnModes) ?? defaultConfig.directReturnMode,
  };
  if (!/^[\w.-]+\/[\w.-]+$/.test(config.loadBalancerClass)) {
    spec.problem('loadBalancerClass', 'is not a class', 'write a name with a prefix, for example herald.dev/herald');
  }
  if (!isLabelName(compatNamespace)) spec.problem('compatNamespace', 'is not the name of a namespace', 'write the namespace of MetalLB');
  fields.raw('status');
  return metadata === undefined ? {} : { object: { kind: 'HeraldConfig', metadata, services, ...config } };
}

function readHashSlots(spec: Fields): SlotTableSize {
  const written = spec.integer('hashSlots', 1, 65_535) ?? defaultConfig.hashSlots;
  const size = slotTableSizes.find((size) => size === written);
  if (size === undefined) spec.problem('hashSlots', `is ${written}`, `write one of ${slotTableSizes.join(', ')}`);
  return size ?? defaultConfig.hashSlots;
}

/** The kernel's numbers are 32 bits, and times of a table are kept in hundredths of a second and less. */
function readConntrack(fields: Fields): ConntrackConfig {
  const number = (name: keyof ConntrackConfig, max: number): number => fields.integer(name, 0, max) ?? defaultConntrack[name];
  const [connections, seconds] = [16_777_216, 2_000_000];
  return {
    maxPerCore: number('maxPerCore', connections),
    min: number('min', connections),
    tcpEstablishedSeconds: number('tcpEstablishedSeconds', seconds),
    tcpCloseWaitSeconds: number('tcpCloseWaitSeconds', seconds),
    udpSeconds: number('udpSeconds', seconds),
    udpStreamSeconds: number('udpStreamSeconds', seconds),
  };
}
