import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { ArgumentError } from '../../../src/cli/errors.ts';
import { kindOf } from '../../../src/cli/kind.ts';
import { candidatesFor } from '../../../src/cli/kubectl/completion.ts';
import { describeText, eventsText } from '../../../src/cli/kubectl/describe.ts';
import { pluginExitCode } from '../../../src/cli/kubectl/errors.ts';
import { printDocument, showsColours, textTable } from '../../../src/cli/kubectl/output.ts';
import { createPluginProgram } from '../../../src/cli/kubectl/program.ts';
import { startProgress } from '../../../src/cli/kubectl/progress.ts';
import { impersonatedBy, kindAndName } from '../../../src/cli/kubectl/session.ts';
import { KubeError } from '../../../src/kube/errors.ts';

describe('the plugin', () => {
  it('finds a kind by each of its names', () => {
    for (const word of ['models', 'model', 'Model', 'MODELS', 'models.michelangelo.api']) {
      assert.equal(kindAndName(word, 'm1').kind.kind, 'Model', word);
    }
    assert.equal(kindAndName('model/m1', undefined).name, 'm1');
    assert.throws(() => kindAndName('model/m1', 'm2'), /neither a kind nor kind\/name/);
    const known = /There is no kind "pod"; there are projects,.*, and where they are ingested cachedoutputs/;
    assert.throws(() => kindAndName('pod', undefined), known);
    assert.throws(() => kindOf('pipelineruns,models'), /"pipelineruns,models" is several kinds, and one is asked for/);
  });

  it('lists the kinds where get names none', async () => {
    await assert.rejects(
      createPluginProgram().parseAsync(['node', 'plugin', 'get']),
      /Say which kinds: there are projects,/,
    );
  });

  it('has an exit code for each kind of failure', () => {
    assert.equal(pluginExitCode(new KubeError('NotFound', '')), 4);
    assert.equal(pluginExitCode(new KubeError('Forbidden', '')), 5);
    assert.equal(pluginExitCode(new KubeError('Unavailable', '')), 6);
    assert.equal(pluginExitCode(new ArgumentError('')), 2);
    assert.equal(pluginExitCode(new KubeError('Conflict', '')), 1);
  });

  it('prints stored objects for programs as they were stored, large integers too', () => {
    const object = parseLossless(
      '{"kind":"Model","metadata":{"name":"m"},"spec":{"id":9007199254740993}}',
    ) as JsonObject;
    assert.match(printDocument(object, 'json'), /"id": 9007199254740993/);
    assert.match(printDocument(object, 'yaml'), /id: 9007199254740993/);
    assert.equal(printDocument(object, 'name'), 'model.stored.michelangelo.api/m\n');
    assert.equal(printDocument(object, 'jsonpath={.metadata.name}'), 'm');
  });

  it('says of an evicted object when and why it left etcd, as far as it is known', () => {
    const of = (state: string, annotations: JsonObject): string =>
      describeText({
        kind: 'Model',
        metadata: {
          annotations: {
            ...annotations,
            'stored.michelangelo.api/state': state,
            'stored.michelangelo.api/evict-time': '2026-01-30T12:00:00.000000Z',
          },
        },
      });
    const marked = { 'michelangelo/Immutable': 'true' };
    assert.match(
      of('evicted', marked),
      /Evicted: +2026-01-30T12.*\nBecause: +a client marked it, michelangelo\/Immutable=true\n/,
    );
    assert.match(of('evicted', { 'michelangelo/Immutable': 'no' }), /Because: +it has no mark: a rule/);
    assert.doesNotMatch(of('live', marked), /Because/);
  });

  it('shows the events of an object, and says where they cannot be had', async () => {
    assert.equal(await eventsText(Promise.resolve({ items: [] })), 'Events: <none>\n');
    const event = { type: 'Warning', reason: 'WriteRefused', count: 3, reporter: 'x', message: 'no\u001b[31m' };
    const lastTime = new Date(Date.now() - 61_000).toISOString();
    assert.equal(
      await eventsText(Promise.resolve({ items: [{ ...event, lastTime }], truncated: true })),
      'Events:\nTYPE      REASON         AGE        FROM   MESSAGE\n' +
        'Warning   WriteRefused   61s (x3)   x      no\\u001b[31m\nThere are more; these are the newest.\n',
    );
    const refused = Promise.reject(new KubeError('Forbidden', 'events is forbidden'));
    assert.equal(await eventsText(refused), 'Events: unknown, events is forbidden\n');
  });

  it('colours where objects are, on a terminal only', () => {
    const rows = [
      ['NAME', 'WHERE', 'AGE'],
      ['a', 'MySQL', '1s'],
    ];
    assert.equal(textTable(rows, 'plain'), 'NAME   WHERE   AGE\na      MySQL   1s\n');
    assert.match(textTable(rows, 'coloured'), /^NAME   WHERE   AGE\na {6}\u001B\[33mMySQL/);
    assert.equal(showsColours({ isTTY: true }, {}), true);
    assert.equal(showsColours({ isTTY: true }, { NO_COLOR: '1' }), false);
    assert.equal(showsColours({}, {}), false);
  });

  it('shows progress on long work, on a terminal only, and takes it away', () => {
    const written: string[] = [];
    let now = 0;
    const on = (isTTY: boolean) => startProgress({ isTTY, write: (text) => written.push(text) }, 'objects', () => now);
    const quick = on(true);
    quick.add(500);
    quick.end();
    const piped = on(false);
    now = 5000;
    piped.add(500);
    piped.end();
    assert.deepEqual(written, []);
    const long = on(true);
    now = 8000;
    long.add(1500);
    long.end();
    assert.match(written.join('|'), /\[ +# *\] 1,500 objects, 3 s\|\r\u001B\[2K$/);
  });

  it('completes commands, kinds and the values of flags', async () => {
    const complete = (...words: readonly string[]) => candidatesFor(createPluginProgram(), words);
    assert.deepEqual(await complete('res'), ['restore']);
    assert.ok((await complete('')).includes('get'));
    assert.deepEqual(await complete('get', 'mod'), ['modelfamilys', 'models']);
    assert.deepEqual(await complete('-n', 'ml', 'history', 'trig'), ['triggerruns']);
    assert.deepEqual(await complete('get', 'models', '--source', 'e'), ['evicted']);
    assert.deepEqual(await complete('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(await complete('get', 'models', '--field-s'), ['--field-selector']);
    assert.deepEqual(await complete('get', 'models', '--owner', ''), []);
  });

  it('completes the last of several kinds and fields', async () => {
    const complete = (...words: readonly string[]) => candidatesFor(createPluginProgram(), words);
    assert.deepEqual(await complete('get', 'models,pipeliner'), ['models,pipelineruns']);
    assert.deepEqual(await complete('count', 'models,pipeliner'), []);
    assert.deepEqual(await complete('count', 'model', '--by', 'spec.alg'), ['spec.algorithm']);
    assert.deepEqual(await complete('count', 'models', '--by', 'spec.algorithm,metadata.creationTimestamp.'), [
      'spec.algorithm,metadata.creationTimestamp.day',
      'spec.algorithm,metadata.creationTimestamp.month',
    ]);
    assert.deepEqual(await complete('get', 'runs', '--order-by', ''), []);
  });

  it('acts as another user with --as, which needs a user and a command of the query API', async () => {
    assert.deepEqual(impersonatedBy({}), {});
    assert.deepEqual(impersonatedBy({ as: 'ada', asGroup: ['a', 'b'] }), { as: { user: 'ada', groups: ['a', 'b'] } });
    const run = (...words: readonly string[]) => createPluginProgram().parseAsync(['node', 'plugin', ...words]);
    await assert.rejects(run('get', 'models', '--as-group', 'a'), /--as-group also takes --as/);
    for (const command of ['audit', 'evict', 'status']) {
      await assert.rejects(run(command, '--as', 'ada'), /--as is of no use here/, command);
      await assert.rejects(run('--as', 'ada', command), /--as is of no use here/, command);
    }
  });
});
