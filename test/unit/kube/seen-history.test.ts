import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { run } from './reflector-fixture.ts';
import { bookmark, changed, gone, listed, object } from './scripted-client.ts';

const down = new KubeError('Unavailable', 'connection refused');
const expired = new KubeError('Expired', 'too old resource version');

describe('Reflector, after a restore of the server', () => {
  it('lists again where the server is behind the version it watched, and says so once', async () => {
    const fixture = await run([listed('1000'), listed('500', ['a 400'])], [[down], ['wait']], ['450']);
    await fixture.clock.advance(800 + 1600);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 1000', 'list', 'watch 500']);
    assert.deepEqual(fixture.wentBack, ['1000 to 450']);
    assert.equal(fixture.reflector.resourceVersion, '500');
    assert.equal(fixture.logger.lines.filter(({ level }) => level === 'error').length, 1);
    await fixture.end();
  });

  it('reports a server that went back where a list shows it, too', async () => {
    const fixture = await run([listed('1000'), listed('500')], [[expired], ['wait']]);
    assert.deepEqual(fixture.wentBack, ['1000 to 500']);
    await fixture.end();
  });

  it('lists again where the server has overtaken the version, but has an older state of the newest object', async () => {
    const fixture = await run([listed('7', ['a 5', 'b 6']), listed('8')], [['wait'], ['wait']]);
    fixture.client.objects.set('b', object('b', '3'));
    fixture.client.break(down);
    await fixture.clock.advance(800 + 1600);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'list', 'watch 8']);
    assert.deepEqual(fixture.wentBack, ['6 to 3']);
    assert.deepEqual(fixture.client.asked, ['b']);
    await fixture.end();
  });

  it('reports a list that shows an older state than was seen, also where the server is past that version, and says so once', async () => {
    const lists = [listed('7', ['a 4', 'b 5', 'c 6']), listed('90', ['a 4', 'b 2', 'c 3']), listed('91', ['b 2'])];
    const fixture = await run(lists, [[changed('c', '8'), expired], [expired], ['wait']]);
    await fixture.clock.advance(30_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'list', 'watch 90', 'list', 'watch 91']);
    assert.deepEqual(fixture.wentBack, ['5 to 2']);
    await fixture.end();
  });

  it('reports no list whose objects are new, written again, gone, or others of the same name', async () => {
    const other = { ...object('d', '3'), metadata: { ...object('d', '3').metadata, uid: 'another' } };
    const second = { ...listed('90', ['a 4', 'b 50', 'e 2']) };
    const lists = [
      listed('9', ['a 4', 'b 5', 'c 6', 'd 7']),
      { ...second, items: [...second.items, asWatched(other)] },
      listed('91', ['c 3']),
    ];
    const fixture = await run(lists, [[expired], [expired], ['wait']]);
    await fixture.clock.advance(30_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 9', 'list', 'watch 90', 'list', 'watch 91']);
    assert.deepEqual(fixture.wentBack, []);
    await fixture.end();
  });

  it('reports it also where the list before it broke off after it had shown nothing of that object', async () => {
    const lists = [listed('7', ['a 4', 'b 5']), listed('90', ['a 4'], 'more'), expired, listed('91', ['b 2'])];
    const fixture = await run(lists, [[expired], ['wait']]);
    await fixture.clock.advance(30_000);
    assert.deepEqual(fixture.wentBack, ['5 to 2']);
    await fixture.end();
  });

  it('remembers the newest of many objects, in whatever order they come', async () => {
    const objects = Array.from({ length: 40 }, (_, index) => `o${index} ${10 + ((index * 7) % 40)}`);
    const fixture = await run([listed('99', objects), listed('100')], [['wait'], ['wait']]);
    fixture.client.objects.clear();
    fixture.client.break(down);
    await fixture.clock.advance(800 + 1600);
    const named = (version: number) => objects.find((text) => text.endsWith(` ${version}`))?.split(' ')[0];
    assert.deepEqual(fixture.client.asked, [49, 48, 47].map(named));
    await fixture.end();
  });

  it('asks for three objects at most, and lists again where none of these is there any more, and does not call that going back', async () => {
    const fixture = await run([listed('7', ['a 3', 'b 4', 'c 5', 'd 6']), listed('8')], [['wait'], ['wait']]);
    fixture.client.objects.clear();
    fixture.client.break(down);
    await fixture.clock.advance(800 + 1600);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'list', 'watch 8']);
    assert.deepEqual(fixture.wentBack, []);
    assert.deepEqual(fixture.client.asked, ['d', 'c', 'b']);
    await fixture.end();
  });

  it('asks for the next object where the newest one was removed or written again, and watches on where that one is the same', async () => {
    const fixture = await run([listed('7', ['a 4', 'b 5', 'c 6'])], [[changed('d', '8'), 'wait'], ['wait']]);
    fixture.client.objects.delete('d');
    fixture.client.objects.set('c', object('c', '9'));
    fixture.client.break(down);
    await fixture.clock.advance(800);
    assert.deepEqual(
      [fixture.client.calls, fixture.client.asked],
      [
        ['list', 'watch 7', 'watch 8'],
        ['d', 'c', 'b'],
      ],
    );
    await fixture.end();
  });

  it('does not ask for objects that are gone or leaving', async () => {
    const leaving = {
      ...object('c', '9'),
      metadata: { ...object('c', '9').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const changes = [gone('b', '8'), { type: 'MODIFIED', object: asWatched(leaving) }, 'wait'] as const;
    const fixture = await run([listed('7', ['a 4', 'b 5', 'c 6'])], [changes, ['wait']]);
    fixture.client.break(down);
    await fixture.clock.advance(800);
    assert.deepEqual(fixture.client.asked, ['a']);
    await fixture.end();
  });

  it('has seen nothing of the new history until that was listed', async () => {
    const fixture = await run([listed('1000'), 'wait'], [[down]], ['450']);
    await fixture.clock.advance(800);
    assert.equal(fixture.reflector.resourceVersion, '');
    await fixture.end();
  });

  it('resumes the watch where the server is soon back at the same version or a later one', async () => {
    const fixture = await run([listed('7')], [[down], [down], ['wait']], ['7', '8']);
    await fixture.clock.advance(20_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'watch 7', 'watch 7']);
    assert.deepEqual(fixture.wentBack, []);
    await fixture.end();
  });

  it('lists again where the server was away for so long that it may have been restored and be at a later version', async () => {
    const fixture = await run([listed('7'), listed('9')], [[down], ['wait']], [down, '8']);
    await fixture.clock.advance(20_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'list', 'watch 9']);
    await fixture.end();
  });

  it('lists again after a watch that brought neither an event nor a bookmark for more than two minutes', async () => {
    const fixture = await run([listed('7'), listed('9')], [[down], ['wait'], ['wait']]);
    await fixture.clock.advance(800 + 134_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'watch 7']);
    await fixture.clock.advance(10_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'watch 7', 'list', 'watch 9']);
    assert.match(fixture.logger.messages().join(), /neither an event nor a bookmark/);
    await fixture.end();
  });

  it('lists again after a watch that fell silent, also where it had brought events', async () => {
    const fixture = await run([listed('7'), listed('9')], [[bookmark('8'), 'wait'], ['wait']]);
    await fixture.clock.advance(145_000);
    assert.deepEqual(fixture.client.calls, ['list', 'watch 7', 'list', 'watch 9']);
    await fixture.end();
  });
});
