import type { ConntrackConfig, HeraldConfig } from './configuration.ts';

/**
 * The default bit of the packet mark beside a kube-proxy, which has 14 unless it is told otherwise, and had 15. Cilium uses 8 to 11 and
 * 16 to 31, as Calico does.
 */
export const besideKubeProxyBit = 13;

/** The settings where no HeraldConfig/default exists, and of its fields that are not written. */
export const defaultConfig: HeraldConfig = {
  kind: 'HeraldConfig',
  metadata: {
    namespace: '',
    name: 'default',
    uid: '',
    resourceVersion: '',
    labels: {},
    annotations: {},
    creationTimestamp: '',
    deleting: false,
  },
  services: 'all',
  podCIDRs: [],
  podInterfaces: [],
  masqueradeAll: false,
  icmpEcho: false,
  localhostNodePorts: false,
  serviceCIDRs: [],
  nodePortAddresses: [],
  sourceRangesEverywhere: false,
  masqueradeBit: 14,
  consistentHashing: false,
  hashSlots: 1021,
  loadBalancerClass: 'herald.dev/herald',
  defaultClass: true,
  compat: 'none',
  compatNamespace: 'metallb-system',
  drainSeconds: 10,
  directReturn: false,
  directReturnMode: 'auto',
};

/** kube-proxy's. */
export const defaultConntrack: ConntrackConfig = {
  maxPerCore: 32_768,
  min: 131_072,
  tcpEstablishedSeconds: 86_400,
  tcpCloseWaitSeconds: 3_600,
  udpSeconds: 0,
  udpStreamSeconds: 0,
};

/** In a cluster a Service without a class may be another controller's. */
export const clusterConfig: HeraldConfig = { ...defaultConfig, defaultClass: false };
