import { expect, test } from 'vitest';
import { pgjdbcProject } from './pgjdbc-project.ts';

test('names the sources and what they were written for, whatever the path holds', () => {
  const project = pgjdbcProject({ sources: '/a <b> & c', scramVersion: '3.2' });
  expect(project).toContain(
    '<testSourceDirectory>/a &lt;b&gt; &amp; c/pgjdbc/src/test/java</testSourceDirectory>',
  );
  expect(project).toContain('<artifactId>scram-client</artifactId><version>3.2</version>');
  expect(project).toContain('<reportsDirectory>${suite.reports}</reportsDirectory>');
});
