import { eventTable } from '../../src/controller/events/event-table.ts';

const head = `# Events

What happened to a Service or to a configuration object, for \`kubectl describe\`, \`kubectl events\` and whoever collects them: \`events.k8s.io/v1\`, from
\`herald.dev/controller\`. This page is written by \`npm run generate\` from \`src/controller/events/event-table.ts\`.

- A reason is a stable code. That of a warning is the code of the "no", and [reasons.md](reasons.md) says what each means and what to do; the note has the
  sentence, with names.
- Each change is told once, also when another controller takes over, which only repeats what is wrong with Services (\`InvalidService\`). Conditions and Events bring good news at once, and bad ones of forwarding and
  announcing when they have lasted 30 s: a session that flaps gives none.
- What is said again of the same object is a series of the first Event (\`series.count\`, \`series.lastObservedTime\`).
- Events of a Service are in its namespace, those of configuration objects, which have none, in \`default\`.
- They are a courtesy: written in the background, by the controller that leads. An object has a budget (25, then one in five minutes), and so have all together
  (50 a second), and the queue has a bound; what is lost is counted and logged ([limits](limits.md)). Conditions are not lost.
- The API server forgets an Event after an hour, unless told otherwise (\`--event-ttl\`): what holds is in the conditions.
- Standalone (\`--source DIR\`) there is nobody to take them: the same is in the log.

| reason | type | action | about | when |
|---|---|---|---|---|
`;

/** docs/reference/events.md. */
export function eventsPage(): string {
  const rows = Object.values(eventTable).map((kind) => {
    const reason = 'reason' in kind ? `\`${kind.reason}\`` : 'a code of [reasons.md](reasons.md)';
    return `| ${reason} | ${kind.type} | \`${kind.action}\` | ${kind.about} | ${kind.when} |\n`;
  });
  return head + rows.join('');
}
