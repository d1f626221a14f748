import { cilium } from './cilium/cilium.ts';
import { calico } from './calico/calico.ts';
import { metallb } from './metallb.ts';
import { metallbOperator } from './metallb-operator.ts';
import type { Tool } from './tool.ts';

/** Every program that `herald import` reads, in the order of its report. */
export const tools: readonly Tool[] = [metallb, metallbOperator, cilium, calico];
