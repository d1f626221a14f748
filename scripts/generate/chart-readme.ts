import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, parseDocument, type Node, type Scalar, type YAMLMap } from 'yaml';
import { homepage } from '../homepage.ts';

/** A value of the chart. */
export interface ChartValue {
  /** agent.image.tag */
  readonly key: string;
  /** As in values.yaml; empty for a group of values. */
  readonly standard: string;
  /** The comment above it in values.yaml, on one line. */
  readonly meaning: string;
}

/** Returns the README of the chart, with a table of all values. `values` is the text of values.yaml. */
export function chartReadme(values: string = readFileSync(join(import.meta.dirname, '../../manifests/chart/values.yaml'), 'utf8')): string {
  const rows = valuesOf(values).map(({ key, standard, meaning }) => `| \`${key}\` | ${code(standard)} | ${cell(meaning)} |`);
  return `# The chart of Herald

[Herald](${homepage}) gives Services of type LoadBalancer an address and makes it work. [Quick start](${homepage}/docs/quick-start.md),
[all about the installation](${homepage}/docs/how-to/install.md), [upgrade](${homepage}/docs/how-to/upgrade.md).

\`\`\`sh
helm install herald CHART --namespace herald-system --create-namespace
\`\`\`

The chart refuses a value that is not in this table, also below \`config.spec\`, which has the schema of
[HeraldConfig](${homepage}/docs/reference/objects.md). A cluster has one Herald, so there is no \`nameOverride\`
([why](${homepage}/docs/adr/0058-the-names-of-the-chart-are-fixed.md)).

Written by \`npm run generate\` from values.yaml.

| value | default | meaning |
|---|---|---|
${rows.join('\n')}
`;
}

/** Returns each value of a file, and each group that has a comment, in its order. Maps in braces are one value. */
export function valuesOf(text: string): readonly ChartValue[] {
  return valuesIn(parseDocument(text).contents as YAMLMap, '');
}

function valuesIn(map: YAMLMap, path: string): ChartValue[] {
  return map.items.flatMap(({ key, value }, index) => {
    const name = key as Scalar<string>;
    // yaml gives a comment above the first key to the map.
    const comment = name.commentBefore ?? (index === 0 && path !== '' ? map.commentBefore : undefined) ?? '';
    // A blank line ends the comment at the head of the file.
    const meaning = (comment.split('\n\n').at(-1) ?? '')
      .split('\n')
      .map((line) => line.trim())
      .join(' ');
    const own = `${path}${name.value}`;
    if (!isMap(value) || value.flow === true) return [{ key: own, standard: textOf(value as Node), meaning }];
    return [...(meaning === '' ? [] : [{ key: own, standard: '', meaning }]), ...valuesIn(value, `${own}.`)];
  });
}

function textOf(value: Node): string {
  return isScalar(value) && typeof value.value === 'string' ? JSON.stringify(value.value) : JSON.stringify(value.toJSON());
}

const code = (text: string): string => (text === '' ? '' : `\`${text.replaceAll('|', '\\|')}\``);
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
