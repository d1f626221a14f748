import { providerTables } from '../../src/model/provider-tables.ts';
import { eventTable } from '../../src/controller/events/event-table.ts';

const head = `# Events

Events report changes of a Service or a configuration object. \`kubectl describe\` and \`kubectl events\` show them. The controller writes them as
\`events.k8s.io/v1\` from \`herald.dev/controller\`. \`npm run generate\` writes this page from \`src/controller/events/event-table.ts\`.

- A reason is a stable code. The reason of a warning is a code of [reasons.md](reasons.md), which has its meaning and fix. The note is the sentence with names.
- Each change is reported once, also when another controller takes over. A new leader repeats only errors of Services (\`InvalidService\`). Conditions
  and Events report good news at once, and bad news about forwarding and announcing after it lasted 30 s, so a flapping session causes neither.
- A repeated report about the same object becomes a series of the first Event (\`series.count\`, \`series.lastObservedTime\`).
- Events of a Service are in its namespace. Events of configuration objects, which have no namespace, are in \`default\`.
- The leading controller writes Events in the background and may drop some. Each object has a budget (25, then one in five minutes), all objects
  together have one (50 a second; 5 while many statuses of Services are being written), and the queue is bounded. Dropped Events are counted
  and logged ([limits](limits.md)). Conditions are never dropped.
- The API server deletes an Event after an hour unless \`--event-ttl\` says otherwise. Conditions show the present state.
- Standalone (\`--source DIR\`) there is no API server, so the log has the same reports.

| reason | type | action | about | when |
|---|---|---|---|---|
`;

/** Returns docs/reference/events.md. */
export function eventsPage(): string {
  const notices = providerTables().flatMap(({ notice }) => (notice === undefined ? [] : [{ type: 'Normal', about: 'Service', ...notice }]));
  const rows = [...Object.values(eventTable), ...notices].map((kind) => {
    const reason = 'reason' in kind ? `\`${kind.reason}\`` : 'a code of [reasons.md](reasons.md)';
    return `| ${reason} | ${kind.type} | \`${kind.action}\` | ${kind.about} | ${kind.when} |\n`;
  });
  return head + rows.join('');
}
