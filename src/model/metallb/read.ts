import { isRecord } from '../../lang/is-record.ts';
import { defined } from '../../lang/defined.ts';
import type { HeraldConfig } from '../kinds/types.ts';
import type { CompatProgram } from '../reading/compat-programs.ts';
import { annotations as names } from '../annotations.ts';
import { defaultConfig } from '../kinds/default-config.ts';
import type { TranslatedFrom } from '../objects/metadata.ts';
import type { Service } from '../objects/service.ts';
import { parseObject, type ParseResult } from '../parse.ts';
import { addProblem, fieldText, type FieldPath, type FieldProblem } from '../reading/problem.ts';
import type { ObjectIdentity, ParseOptions } from '../reading/result.ts';
import { translateRequest, type TranslatedRequest } from '../reading/requests-of-others.ts';
import { metallbGroup } from '../parse/metallb-group.ts';
import { translateObject } from './translate.ts';

/** Determines whose objects are read: HeraldConfig.spec.compat and compatNamespace. */
export interface ReadingMode {
  readonly compat: readonly CompatProgram[];
  readonly namespace: string;
}

/** Returns the mode of a HeraldConfig, or the default mode when there is none. */
export function readingModeOf({ compat, compatNamespace }: Pick<HeraldConfig, 'compat' | 'compatNamespace'> = defaultConfig): ReadingMode {
  return { compat, namespace: compatNamespace };
}

/** True when objects are read the same way in both modes. The namespace matters only with MetalLB's objects. */
export function sameReadingMode(a: ReadingMode, b: ReadingMode): boolean {
  const isSame = a.compat.length === b.compat.length && a.compat.every((program) => b.compat.includes(program));
  return isSame && (!readsMetalLB(a) || a.namespace === b.namespace);
}

/** True when objects of metallb.io are read. */
export function readsMetalLB({ compat }: Pick<ReadingMode, 'compat'>): boolean {
  return compat.includes('metallb');
}

/**
 * Reads any object. Every object enters here: what is written for a program in `compat` is translated first, and no later code knows of that
 * program. Problems and warnings name the fields and annotations as they were written.
 */
export function parseAnyObject(raw: unknown, mode: ReadingMode, options: ParseOptions = {}): ParseResult {
  if (mode.compat.length === 0 || !isRecord(raw)) return parseObject(raw, options);
  if (raw['kind'] === 'Service' && raw['apiVersion'] === 'v1') return readService(raw, mode, options);
  if (!readsMetalLB(mode)) return parseObject(raw, options);
  const translation = translateObject(raw, mode.namespace);
  switch (translation.is) {
    case 'foreign':
      return parseObject(raw, options);
    case 'report':
      return { companions: [], ignored: true, problems: [], warnings: [] };
    case 'refused':
      return refuse([translation.field], translation.message, translation.fix, identityOf(raw, mode));
    case 'translated': {
      const { origin, findings } = translation;
      if (origin.namespace !== mode.namespace) {
        const message = `is ${origin.namespace}, and MetalLB reads only its own namespace, which is ${mode.namespace} by HeraldConfig`;
        return refuse(['metadata', 'namespace'], message, 'move the object, or set compatNamespace', identityOf(raw, mode));
      }
      const result = parseObject(translation.raw, { ...options, origin });
      const warnings = [...result.warnings];
      for (const { level, path, message, fix } of findings) if (level === 'differs') addProblem(warnings, path, message, fix);
      const { identity: _, ...found } = result;
      const identity = result.identity === undefined ? undefined : originIdentity(origin);
      return { ...found, warnings, ...defined({ identity }) };
    }
  }
}

function readService(raw: Readonly<Record<string, unknown>>, { compat }: ReadingMode, options: ParseOptions): ParseResult {
  const metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
  const spec = isRecord(raw['spec']) ? raw['spec'] : {};
  const written = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  const translated = translateRequest(written, spec['loadBalancerIP'], compat);
  if (translated === undefined) return parseObject(raw, options);
  const { loadBalancerIP: _field, ...withoutField } = spec;
  const { annotations, refusal } = translated;
  const result = parseObject(
    { ...raw, metadata: { ...metadata, annotations }, ...(translated.withoutField ? { spec: withoutField } : {}) },
    options,
  );
  const warnings = result.warnings.map((problem) => asWritten(problem, translated));
  for (const { name, message, fix } of translated.findings) addProblem(warnings, pathOf(name), message, fix);
  const problems = result.problems.map((problem) => asWritten(problem, translated));
  if (refusal !== undefined) addProblem(problems, pathOf(refusal.name), refusal.problem, refusal.fix);
  const { object } = result;
  if (object?.kind !== 'Service') return { ...result, problems, warnings };
  return { ...result, object: { ...object, ...requestAsWritten(object, translated) }, problems, warnings };
}

const pathOf = (name: string): FieldPath => (name.startsWith('spec.') ? name.split('.') : ['metadata', 'annotations', name]);

function requestAsWritten(
  { invalidRequest }: Service,
  { from, refusal }: TranslatedRequest,
): Partial<Pick<Service, 'invalidRequest' | 'requestedAddresses' | 'requestedBy'>> {
  if (invalidRequest !== undefined)
    return { invalidRequest: { ...invalidRequest, field: from.get(invalidRequest.field) ?? invalidRequest.field } };
  if (refusal !== undefined) return { invalidRequest: { field: refusal.name, problem: refusal.problem }, requestedAddresses: [] };
  const requestedBy = [names.loadBalancerIPs, names.addressPool].flatMap((name) => from.get(name) ?? []);
  return requestedBy.length === 0 ? {} : { requestedBy };
}

/** Names the annotation of the other program in a problem of the annotation that was translated from it. */
function asWritten(problem: FieldProblem, { from }: TranslatedRequest): FieldProblem {
  const path = problem.path.map((step) => (typeof step === 'string' ? (from.get(step) ?? step) : step));
  return { ...problem, path, field: fieldText(path) };
}

/** Returns the identity of the MetalLB object. It differs from that of the translated object, because both may exist side by side. */
function originIdentity(origin: TranslatedFrom): ObjectIdentity {
  return { kind: `${origin.kind}.${metallbGroup}`, namespace: origin.namespace, name: origin.name };
}

function identityOf(raw: Readonly<Record<string, unknown>>, mode: ReadingMode): ObjectIdentity | undefined {
  const metadata = isRecord(raw['metadata']) ? raw['metadata'] : {};
  const { name, namespace } = metadata;
  if (typeof name !== 'string' || name === '') return undefined;
  const where = typeof namespace === 'string' && namespace !== '' ? namespace : mode.namespace;
  return { kind: `${String(raw['kind'])}.${metallbGroup}`, namespace: where, name };
}

function refuse(path: FieldPath, message: string, fix: string, identity: ObjectIdentity | undefined): ParseResult {
  const problem = { path, field: fieldText(path), message, fix };
  return { companions: [], ignored: false, problems: [problem], warnings: [], ...defined({ identity }) };
}
