import type { CompatProgram } from './compat-programs.ts';
import { annotations } from '../annotations.ts';
import type { Labels } from '../objects/metadata.ts';
import { asksForLease, foreignAnnotations, translateForeign } from './foreign-annotations.ts';
import { translateAnnotations, type TranslatedAnnotations } from './metallb-annotations.ts';

/** What a Service asks other programs for, as if it asked Herald. */
export interface TranslatedRequest extends TranslatedAnnotations {
  /** The value of spec.loadBalancerIP is part of the annotations, or does not count in the other program. */
  readonly withoutField: boolean;
  /** Why Herald can give it no address. `name`: of the annotation, or spec.loadBalancerIP. */
  readonly refusal?: { readonly name: string; readonly problem: string; readonly fix: string };
}

const { loadBalancerIPs, allowSharedIP } = annotations;
const singleField = 'spec.loadBalancerIP';

/**
 * Translates annotations of the programs in `compat` into Herald's. `single`: spec.loadBalancerIP. Undefined: there is nothing to translate.
 * Herald's own annotation wins, then the first program by the order of the tables, and one that is not used gets a finding.
 */
export function translateRequest(
  written: Readonly<Record<string, unknown>>,
  single: unknown,
  compat: readonly CompatProgram[],
): TranslatedRequest | undefined {
  const ofMetalLB = compat.includes('metallb') ? translateAnnotations(written) : undefined;
  const request = new Request(ofMetalLB ?? { annotations: written as Labels, from: new Map(), findings: [] });
  for (const program of compat) if (program !== 'metallb') request.read(program);
  request.settleField(single, compat);
  request.shareAsKubeVip();
  return ofMetalLB !== undefined || request.isChanged ? request.result() : undefined;
}

class Request {
  readonly #annotations: Record<string, string>;
  readonly #from: Map<string, string>;
  readonly #findings: TranslatedAnnotations['findings'][number][];
  #refusal: TranslatedRequest['refusal'];
  #withoutField = false;
  isChanged = false;

  constructor({ annotations: before, from, findings }: TranslatedAnnotations) {
    this.#annotations = { ...before };
    this.#from = new Map(from);
    this.#findings = [...findings];
  }

  read(program: CompatProgram): void {
    for (const annotation of foreignAnnotations) {
      const { name, ours, problem = '', fix } = annotation;
      const value: unknown = this.#annotations[name];
      if (annotation.compat !== program || ours === undefined || typeof value !== 'string' || value.trim() === '') continue;
      delete this.#annotations[name];
      this.isChanged = true;
      const translated = translateForeign(annotation, value);
      const before = Object.hasOwn(this.#annotations, ours) ? this.#annotations[ours] : undefined;
      if (before === undefined && translated !== undefined) {
        this.#annotations[ours] = translated;
        this.#from.set(ours, name);
      } else if (before === undefined) this.#refusal ??= { name, problem, fix };
      else if (before !== translated) this.#notUsed(name, `${this.#from.get(ours) ?? ours} has another value`);
    }
  }

  /** In kube-vip Services with the same address and different ports share it. As in Herald, those of other namespaces need consent. */
  shareAsKubeVip(): void {
    const name = 'kube-vip.io/loadbalancerIPs';
    if (this.#from.get(loadBalancerIPs) !== name || Object.hasOwn(this.#annotations, allowSharedIP)) return;
    this.#annotations[allowSharedIP] = name;
  }

  /** Cilium gives a Service the address of the field too. kube-vip and PureLB look at it only where there is no annotation. */
  settleField(single: unknown, compat: readonly CompatProgram[]): void {
    if (typeof single !== 'string' || single === '') return;
    const list = this.#annotations[loadBalancerIPs];
    const program = foreignAnnotations.find(({ name }) => name === this.#from.get(loadBalancerIPs))?.compat;
    if (list === undefined || program === undefined) {
      if (compat.includes('kube-vip') && asksForLease(single)) this.#refuseLease();
      return;
    }
    this.#withoutField = true;
    const isListed = list.split(',').some((one) => one.trim() === single);
    if (isListed) return;
    if (program === 'cilium') this.#annotations[loadBalancerIPs] = `${single},${list}`;
    else this.#notUsed(singleField, `${this.#from.get(loadBalancerIPs) ?? ''} names other addresses`);
  }

  result(): TranslatedRequest {
    const { findings, from } = { findings: this.#findings, from: this.#from };
    const refusal = this.#refusal === undefined ? {} : { refusal: this.#refusal };
    return { annotations: this.#annotations, from, findings, withoutField: this.#withoutField, ...refusal };
  }

  #refuseLease(): void {
    const { problem = '', fix = '' } = foreignAnnotations.find(({ name }) => name === 'kube-vip.io/loadbalancerIPs') ?? {};
    this.#refusal ??= { name: singleField, problem, fix };
    this.#withoutField = true;
    this.isChanged = true;
  }

  #notUsed(name: string, why: string): void {
    this.#findings.push({ name, message: `is not used: ${why}`, fix: 'remove one of the two' });
  }
}
