import { calico } from './calico/calico.ts';
import { cilium } from './cilium/cilium.ts';
import { kubeProxy } from './kube-proxy/kube-proxy.ts';
import { kubeRouter } from './kube-router.ts';
import { kubeVip } from './kube-vip/kube-vip.ts';
import { metallb } from './metallb/metallb.ts';
import { metallbOperator } from './metallb/operator.ts';
import { openelb } from './openelb.ts';
import { purelb } from './purelb.ts';
import { serviceLB } from './service-lb.ts';
import type { Tool } from './tool.ts';

/** Every program that `herald import` reads, in the order of its report. */
export const tools: readonly Tool[] = [
  metallb,
  metallbOperator,
  cilium,
  calico,
  kubeVip,
  purelb,
  kubeRouter,
  openelb,
  serviceLB,
  kubeProxy,
];
