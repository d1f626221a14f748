/**
 * Writes every file that is derived from a table or definition in the code.
 *
 *   npm run generate                      all of them
 *   npm run generate -- crds reasons      only these
 *   npm run generate -- --check           writes nothing; names the files that are out of date and exits with status 1
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { awsDefinition } from '../providers/aws/tables/definition.ts';
import { addDefinition } from '../src/cli/context/definitions.ts';
import { awsAnnotationsPage } from './generate/aws-annotations-page.ts';
import { awsPage } from './generate/aws-peer-cases.ts';
import { chartFiles } from './generate/chart-files.ts';
import { dashboard } from './generate/dashboard.ts';
import { decisionsPage } from './generate/decisions-page.ts';
import { diagnosisPage } from './generate/diagnosis-page.ts';
import { ec2Model } from './generate/ec2-model.ts';
import { eventsPage } from './generate/events-page.ts';
import { importPage } from './generate/import-page.ts';
import { pagesWithCommands } from './generate/install-block.ts';
import { manualPage } from './generate/manual-page.ts';
import { metallbPage } from './generate/metallb-page.ts';
import { metricsPage } from './generate/metrics-page.ts';
import { generatedFiles } from './generate/objects/generated-files.ts';
import { reasonsPage } from './generate/reasons-page.ts';
import { requirementPages } from './generate/rfc-page.ts';
import { e2ePage } from '../test/cluster/e2e/page.ts';

addDefinition(awsDefinition);

/** Returns the files of one generator: path from the repository's root, and content. */
type Generator = () => Files | Promise<Files>;
type Files = Iterable<readonly [path: string, content: string]>;

/** The order matters: the chart is made from the CRDs and the monitoring manifests. */
const generators: Readonly<Record<string, Generator>> = {
  crds: generatedFiles,
  reasons: () => [['docs/reference/reasons.md', reasonsPage()]],
  diagnosis: () => [['docs/reference/diagnosis.md', diagnosisPage()]],
  events: () => [['docs/reference/events.md', eventsPage()]],
  metrics: () => [['docs/reference/metrics.md', metricsPage()]],
  metallb: () => [['docs/reference/metallb-compatibility.md', metallbPage()]],
  import: () => [['docs/reference/import.md', importPage()]],
  'aws-annotations': () => [['docs/reference/aws-annotations.md', awsAnnotationsPage()]],
  aws: () => [['docs/reference/aws.md', awsPage()]],
  // When two branches add requirements, only these pages conflict. Take either side and generate them again.
  requirements: requirementPages,
  'kubernetes-e2e': () => [['docs/reference/kubernetes-e2e.md', e2ePage()]],
  manual: async () => [['docs/herald.1', await manualPage()]],
  decisions: () => [['docs/adr/README.md', decisionsPage()]],
  installation: pagesWithCommands,
  dashboard: () => [['manifests/monitoring/dashboard.json', dashboard()]],
  chart: () => below('manifests/chart', chartFiles()),
  'ec2-model': async () => [['providers/aws/sdk/ec2-client/model.json', await ec2Model()]],
};

const root = join(import.meta.dirname, '..');
const words = process.argv.slice(2);
const isCheck = words.includes('--check');
const names = words.filter((word) => word !== '--check');
const unknown = names.filter((name) => generators[name] === undefined);
if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(', ')}; known are ${Object.keys(generators).join(', ')}`);
  process.exit(2);
}

const outdated: string[] = [];
for (const [name, files] of Object.entries(generators)) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const [path, content] of await files()) if (!isUpToDate(path, content)) outdated.push(update(name, path, content));
}
if (isCheck && outdated.length > 0) process.exitCode = 1;

function below(folder: string, files: Iterable<readonly [string, string]>): [string, string][] {
  return [...files].map(([path, content]) => [join(folder, path), content]);
}

function isUpToDate(path: string, content: string): boolean {
  try {
    return readFileSync(join(root, path), 'utf8') === content;
  } catch {
    return false;
  }
}

/** Writes the file, or only reports it with --check. */
function update(name: string, path: string, content: string): string {
  if (isCheck) console.error(`${path} is out of date: run npm run generate -- ${name}`);
  else {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    console.log(path);
  }
  return path;
}
