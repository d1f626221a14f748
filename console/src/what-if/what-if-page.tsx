import { useState } from 'preact/hooks';
import { Mark } from '../parts/mark.tsx';
import { usePlan } from '../state/plan.ts';
import { useLink } from '../state/pulse.ts';
import { PlanResult } from './plan-result.tsx';

/** Stays when another view is shown. No URL has it, because manifests can have passwords. */
let kept = '';

export function WhatIfPage() {
  const { pulse } = useLink();
  const [manifests, setManifests] = useState(kept);
  const [unread, setUnread] = useState('');
  const write = (text: string): void => {
    kept = text;
    setUnread('');
    setManifests(text);
  };
  const add = async (files: FileList | null | undefined): Promise<void> => {
    const chosen = [...(files ?? [])];
    if (chosen.length === 0) return;
    try {
      const texts = await Promise.all(chosen.map((file) => file.text()));
      write([kept, ...texts].filter((text) => text.trim() !== '').join('\n---\n'));
    } catch {
      setUnread('The browser could not read the file. A folder cannot be dropped: drop its files.');
    }
  };
  const { data, problem, isOld } = usePlan(manifests, JSON.stringify(pulse.versions));
  return (
    <div
      class="page"
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
      }}
      onDrop={(event) => {
        const files = event.dataTransfer?.files;
        if (files === undefined || files.length === 0) return;
        event.preventDefault();
        void add(files);
      }}
    >
      <h1 class="hidden">What if</h1>
      <section class="card" aria-labelledby="manifests-title">
        <div class="card-head">
          <h2 id="manifests-title">Manifests</h2>
          <div class="tools">
            <label class="button">
              Add files
              <input
                type="file"
                class="hidden"
                multiple
                accept=".yaml,.yml,.json"
                onChange={({ currentTarget }) => {
                  void add(currentTarget.files).then(() => (currentTarget.value = ''));
                }}
              />
            </label>
            <button type="button" disabled={manifests === ''} onClick={() => write('')}>
              Clear
            </button>
          </div>
        </div>
        <p class="muted" id="manifests-help">
          Paste, drop or write objects in YAML or JSON. The plan says what would change if they were applied. Nothing is applied.
        </p>
        <textarea
          class="manifests"
          rows={14}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          aria-labelledby="manifests-title"
          aria-describedby="manifests-help"
          placeholder={example}
          value={manifests}
          onInput={({ currentTarget }) => write(currentTarget.value)}
        />
        <p role="status" class="muted">
          {unread !== '' ? unread : isOld ? 'The plan is being computed' : data === undefined ? '' : `Compared with ${data.from}`}
        </p>
      </section>
      {problem !== undefined && (
        <div class="banner bad" role="alert">
          <Mark health="bad" />
          <p>
            {problem.error} <span class="fix">{problem.fix}</span>
          </p>
        </div>
      )}
      {data !== undefined && <PlanResult view={data} />}
    </div>
  );
}

const example = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata:
  name: public
spec:
  addresses: [192.0.2.0/24]`;
