import { awsDefinition } from '../../providers/aws/tables/definition.ts';
import { awsMetrics } from '../../providers/aws/tables/metrics.ts';
import { awsReasons } from '../../providers/aws/tables/reasons/reasons.ts';
import { addDefinition } from '../../src/cli/context/definitions.ts';
import { catalogue } from '../../src/model/reasons.ts';
import { metricTable } from '../../src/telemetry/metric-table.ts';

/** Adds what the providers bring that ship with Herald, as src/cli/main.ts does at the start of a process. Importing this file is enough. */
export function addBuiltInProviders(): void {
  addDefinition(awsDefinition);
}

addBuiltInProviders();

/** The reasons of the core and of the providers that ship with Herald. */
export const allReasons = { ...catalogue, ...awsReasons };

/** Their metrics. */
export const allMetrics = { ...metricTable, ...awsMetrics };
