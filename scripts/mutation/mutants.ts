import { parseAst } from 'rolldown/parseAst';

/** One change of a source file: the text from `start` to `end` becomes `replacement`. */
export interface Mutant {
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly line: number;
  /** For people: `a < b -> a <= b`, on one line. */
  readonly change: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

const operators: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&': '|',
  '|': '&',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

const methods: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  find: 'findLast',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
};

/** Of types, only the expression inside is code that runs. */
const wrappers = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression', 'TSInstantiationExpression']);

/** Returns every mutant of a file, in order of position. Types, imports and messages for people have none. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const found: Mutant[] = [];
  const textOf = ({ start, end }: Node): string => source.slice(start, end);
  const put = (start: number, end: number, replacement: string, around: Node): void => {
    const after = source.slice(around.start, start) + replacement + source.slice(end, around.end);
    const change = `${oneLine(textOf(around))} -> ${oneLine(after)}`;
    found.push({ file, start, end, replacement, line: source.slice(0, start).split('\n').length, change });
  };
  const replace = (node: Node, replacement: string): void => put(node.start, node.end, replacement, node);

  const mutate = (node: Node, parent: Node | undefined): void => {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const [left, right] = [node['left'] as Node, node['right'] as Node];
        const operator = String(node['operator']);
        const other = operators[operator];
        // A sum with text has no difference.
        if (other === undefined || (operator === '+' && [left, right].some(isText))) return;
        const at = source.indexOf(operator, left.end);
        put(at, at + operator.length, other, node);
        return;
      }
      case 'IfStatement':
      case 'ConditionalExpression':
        for (const value of ['true', 'false']) replace(node['test'] as Node, value);
        return;
      case 'WhileStatement':
        replace(node['test'] as Node, 'false');
        return;
      case 'UnaryExpression':
        if (node['operator'] === '!' || node['operator'] === '-') replace(node, textOf(node['argument'] as Node));
        return;
      case 'Literal':
        literal(node, parent);
        return;
      case 'ArrayExpression':
        if ((node['elements'] as unknown[]).length > 0) replace(node, '[]');
        return;
      case 'CallExpression': {
        const { type, property } = node['callee'] as Node & { readonly property?: Node };
        const other = type === 'MemberExpression' && property?.type === 'Identifier' ? methods[textOf(property)] : undefined;
        if (other !== undefined && property !== undefined && Object.hasOwn(methods, textOf(property)))
          put(property.start, property.end, other, node);
        else if (property !== undefined && textOf(property) === 'filter') replace(node, textOf((node['callee'] as Node)['object'] as Node));
        return;
      }
      case 'ExpressionStatement':
        if (/^(await |void )?[^=]*\(/.test(textOf(node)) && !/^(assert|(this\.)?#?\w*[lL]og\.|super\()/.test(textOf(node)))
          replace(node, ';');
        return;
    }
  };

  const literal = (node: Node, parent: Node | undefined): void => {
    const value = node['value'];
    if (typeof value === 'boolean') replace(node, String(!value));
    else if (typeof value === 'number') replace(node, String(value + 1));
    else if (typeof value === 'string' && /^[^\s]+$/.test(value) && parent?.type !== 'MemberExpression') replace(node, "''");
  };

  const walk = (node: Node, parent: Node | undefined): void => {
    if (/^(Import|ExportAll)/.test(node.type) && node.type !== 'ImportExpression') return;
    if (node.type.startsWith('TS') && !wrappers.has(node.type)) return;
    mutate(node, parent);
    for (const [name, child] of Object.entries(node)) {
      const isKey = name === 'key' && node['computed'] !== true;
      if (isKey || name === 'typeAnnotation' || name === 'source') continue;
      for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) walk(each, node);
    }
  };
  walk(parseAst(source, { lang: 'ts' }) as unknown as Node, undefined);
  return found.toSorted((a, b) => a.start - b.start);
}

export function applied(source: string, { start, end, replacement }: Mutant): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Partial<Node>).type === 'string';
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node['value'] === 'string');
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 100 ? `${line.slice(0, 100)}...` : line;
}
