import { isRecord } from '../../../src/lang/is-record.ts';
import { invalid, parsed, type Parsed } from '../../../src/net/parsed.ts';
import type { ValueType } from './value-types.ts';

/** How a listener divides connections between the Service of the annotation and other target groups. */
export interface WeightedAction {
  /** The weight of the Service itself. */
  readonly weight: number;
  readonly others: readonly WeightedBackend[];
  readonly isSticky: boolean;
}

export type WeightedBackend = { readonly weight: number } & (
  | { readonly arn: string }
  | {
      /** A Service of the same namespace. */
      readonly service: string;
      /** Number or name. */
      readonly port: string;
      /** True: the load balancer ends TLS. False: it encrypts again. Absent: as for the Service itself. */
      readonly decrypt?: boolean;
    }
);

type Raw = Readonly<Record<string, unknown>>;

/** The error in an annotation, as the text after its name. */
class Mistake extends Error {}

/** The JSON of the AWS Load Balancer Controller. Its unknown fields are errors, because they would silently have no effect. */
export const weightedAction: ValueType<WeightedAction> = {
  name: 'JSON',
  read(text) {
    try {
      return parsed(readAction(JSON.parse(text)));
    } catch (error) {
      return mistakeOf(error);
    }
  },
};

function mistakeOf(error: unknown): Parsed<never> {
  if (error instanceof Mistake) return invalid(error.message);
  if (error instanceof SyntaxError) return invalid(`is no JSON: ${error.message}`);
  throw error;
}

function readAction(raw: unknown): WeightedAction {
  const action = fieldsOf(raw, 'the value', ['type', 'forwardConfig']);
  if (action['type'] !== 'forward') throw new Mistake(`has the type ${JSON.stringify(action['type'])}, and only "forward" is possible`);
  const config = fieldsOf(action['forwardConfig'], 'forwardConfig', ['baseServiceWeight', 'targetGroups', 'targetGroupStickinessConfig']);
  const groups = config['targetGroups'];
  if (!Array.isArray(groups)) throw new Mistake('has no list forwardConfig.targetGroups');
  const stickiness = config['targetGroupStickinessConfig'] ?? {};
  const { enabled = false } = fieldsOf(stickiness, 'targetGroupStickinessConfig', ['enabled']);
  if (typeof enabled !== 'boolean') throw new Mistake('has a targetGroupStickinessConfig.enabled that is neither true nor false');
  const others = groups.map((group, index) => readBackend(group, `targetGroups[${index}]`));
  // AWS needs no weight where there is nothing to divide.
  const weight = others.length === 0 ? 1 : weightOf(config['baseServiceWeight'], 'forwardConfig.baseServiceWeight');
  if (others.length > 0 && weight + others.reduce((sum, one) => sum + one.weight, 0) === 0) throw new Mistake('has only weights of 0');
  const names = others.map((one) => ('arn' in one ? one.arn : `${one.service}:${one.port}`));
  const seen = new Set<string>();
  const twice = names.find((name) => seen.size === seen.add(name).size);
  if (twice !== undefined) throw new Mistake(`names ${twice} twice`);
  return { weight, others, isSticky: enabled };
}

function readBackend(raw: unknown, at: string): WeightedBackend {
  const group = fieldsOf(raw, at, ['serviceName', 'servicePort', 'targetGroupARN', 'weight', 'decrypt']);
  const { serviceName: service, servicePort: port, targetGroupARN: arn, decrypt } = group;
  const weight = weightOf(group['weight'], `${at}.weight`);
  if ((service === undefined) === (arn === undefined)) throw new Mistake(`needs either serviceName or targetGroupARN in ${at}`);
  if (arn !== undefined) {
    const isArn = typeof arn === 'string' && /^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:\d{12}:targetgroup\/[^/]+\/[^/]+$/.test(arn);
    if (!isArn) throw new Mistake(`has no ARN of a target group in ${at}.targetGroupARN: ${JSON.stringify(arn)}`);
    return { weight, arn };
  }
  if (typeof service !== 'string' || service === '')
    throw new Mistake(`has no name of a Service in ${at}.serviceName: ${JSON.stringify(service)}`);
  const isPort = (typeof port === 'string' && port !== '') || Number.isInteger(port);
  if (!isPort) throw new Mistake(`has no number or name of a port in ${at}.servicePort`);
  if (decrypt !== undefined && typeof decrypt !== 'boolean') throw new Mistake(`has a ${at}.decrypt that is neither true nor false`);
  return { weight, service, port: `${port as string | number}`, ...(decrypt === undefined ? {} : { decrypt }) };
}

function weightOf(value: unknown, at: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 999) return value;
  throw new Mistake(`has no number from 0 to 999 in ${at}`);
}

function fieldsOf(value: unknown, at: string, known: readonly string[]): Raw {
  if (!isRecord(value)) throw new Mistake(`has no object in ${at}`);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Mistake(`has the unknown field ${unknown} in ${at}, which takes ${known.join(', ')}`);
  return value;
}
