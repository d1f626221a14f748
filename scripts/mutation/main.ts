import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { seededRandom, systemRandom } from '../../src/system/random.ts';
import { endTogether } from '../../test/lab/ends-together.ts';
import { sourceFiles } from '../source-files.ts';
import { mutantsOf, type Mutant } from './mutants.ts';
import { relatedTests } from './related.ts';
import { missesGoal, reportText, type RoomReport, type Tried } from './report.ts';
import { Trial } from './trial.ts';

/** Percent of the sample that a unit test or the compiler should detect. */
const goals: Readonly<Record<string, number>> = {
  'src/decisions': 85,
  'src/dataplane': 75,
  'src/bgp': 85,
  'src/kube': 75,
  'src/controller': 75,
  'providers/aws': 85,
};

const help = `npm run test:mutation -- [options]

  Changes the sources in one place at a time and runs the unit tests that load the file, the nearest first. A change that no test notices and that compiles
  has survived: a test is missing there, or the change makes no difference. Files on the disk are not changed. A change takes some seconds, a survivor
  minutes. Exits with 1 when a room is below its goal by more than the error of its sample.

  --rooms ROOM,...  folders (default ${Object.keys(goals).join(',')})
  --sample N        changes of each room, chosen at random; 0: all of them (default 20)
  --seed N          the same seed chooses the same changes of the same sources (default: a random one, which is printed)
  --nearest N       runs at most so many test files for a change (default: all that load the file)
  --at FILE:LINE    all changes of a line, instead of samples
  --list            prints the changes and runs nothing
  --json            prints JSON`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    rooms: { type: 'string', default: Object.keys(goals).join(',') },
    sample: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Math.trunc(systemRandom() * 2 ** 31)) },
    nearest: { type: 'string' },
    at: { type: 'string' },
  },
});
if (values.help) {
  console.log(help);
  process.exit();
}
const root = join(import.meta.dirname, '../..');
const sampleSize = Number(values.sample) || Infinity;
const note = (text: string): void => void process.stderr.write(`${text}\n`);
endTogether();
note(`seed ${values.seed}`);

const rooms = values.at === undefined ? values.rooms.split(',').map(roomSample) : [placeSample(values.at)];
if (values.list) {
  for (const { sample } of rooms) for (const { file, line, change } of sample) console.log(`${file}:${line}: ${change}`);
  process.exit();
}
const trial = new Trial(relatedTests(), Number(values.nearest ?? Infinity));
const reports: RoomReport[] = [];
try {
  for (const { room, mutants, sample } of rooms) {
    const tried: Tried[] = [];
    for (const mutant of sample) {
      const verdict = await trial.verdict(mutant);
      tried.push({ mutant, verdict });
      note(`${verdict}: ${mutant.file}:${mutant.line}: ${mutant.change}`);
    }
    reports.push({ room, goal: goals[room] ?? 75, mutants, tried });
  }
} finally {
  trial.close();
}
process.stdout.write(
  values.json
    ? `${JSON.stringify({ seed: Number(values.seed), rooms: reports }, undefined, 1)}\n`
    : `seed ${values.seed}\n\n${reportText(reports)}`,
);
process.exit(reports.some(missesGoal) ? 1 : 0);

interface RoomSample {
  readonly room: string;
  readonly mutants: number;
  readonly sample: readonly Mutant[];
}

function roomSample(room: string): RoomSample {
  const files = sourceFiles(room).toSorted();
  if (files.length === 0) {
    console.error(`--rooms ${room}: no such folder`);
    process.exit(2);
  }
  const all = files.flatMap(mutantsIn);
  const random = seededRandom(Number(values.seed));
  const chosen = all.map((mutant) => ({ mutant, rank: random() })).toSorted((a, b) => a.rank - b.rank);
  return { room, mutants: all.length, sample: chosen.slice(0, sampleSize).map(({ mutant }) => mutant) };
}

function placeSample(place: string): RoomSample {
  const [file = '', line] = place.split(':');
  const sample = mutantsIn(file).filter((mutant) => mutant.line === Number(line));
  return { room: place, mutants: sample.length, sample };
}

function mutantsIn(file: string): Mutant[] {
  return mutantsOf(file, readFileSync(join(root, file), 'utf8'));
}
