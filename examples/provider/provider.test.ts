import test from 'node:test';
import { providerChecks } from 'herald/provider-testing';
import { exampleSubject } from './subject.ts';

for (const { name, run } of providerChecks(exampleSubject())) void test(name, run);
