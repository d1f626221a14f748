import { expect, test } from 'vitest';
import { RequestChannel } from '../../../src/lang/request-channel.ts';

interface Answers {
  readonly name: string;
  readonly count: number;
  readonly stop: undefined;
}

function asked(): { readonly sent: string[]; readonly questions: RequestChannel<Answers> } {
  const sent: string[] = [];
  const questions = new RequestChannel<Answers>(
    ({ type }) => void sent.push(type),
    () => ({ name: '', count: 0, stop: undefined }),
  );
  return { sent, questions };
}

test('answers belong to the questions in the order in which they were asked', async () => {
  const { sent, questions } = asked();
  const answers = Promise.all([questions.ask({ type: 'count' }), questions.ask({ type: 'name' })]);
  expect(sent).toEqual(['count', 'name']);
  questions.answered(3);
  questions.answered('three');
  expect(await answers).toEqual([3, 'three']);
});

test('after the last question nothing is sent, and later ones get the empty answer', async () => {
  const { sent, questions } = asked();
  const last = questions.askLast({ type: 'stop' });
  expect(questions.closed).toBe(true);
  expect(await questions.ask({ type: 'count' })).toBe(0);
  questions.answered(undefined);
  expect(await last).toBeUndefined();
  expect(sent).toEqual(['stop']);
});
