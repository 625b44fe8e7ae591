import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Command } from 'commander';
import type { JsonObject } from '../../../src/base/json.ts';
import { parseLossless } from '../../../src/base/lossless-json.ts';
import { kindOf } from '../../../src/cli/kind.ts';
import { countText } from '../../../src/cli/kubectl/count.ts';
import { addFilterOptions, filterQuery, listPath, nothingFound, timeBefore } from '../../../src/cli/kubectl/filters.ts';

const now = new Date('2026-03-10T12:00:00Z');

describe('a time on the command line', () => {
  it('is a moment, the beginning of a day, or how long ago', () => {
    const times = {
      '2026-01-31T12:00:00Z': '2026-01-31T12:00:00Z',
      '2026-01-31': '2026-01-31T00:00:00Z',
      '30s': '2026-03-10T11:59:30.000Z',
      '1h30m': '2026-03-10T10:30:00.000Z',
      '7d': '2026-03-03T12:00:00.000Z',
      '1d12h': '2026-03-09T00:00:00.000Z',
      '2w': '2026-02-24T12:00:00.000Z',
      '0': '2026-03-10T12:00:00.000Z',
    };
    for (const [text, time] of Object.entries(times)) assert.equal(timeBefore(text, now), time, text);
  });

  it('is nothing else', () => {
    for (const text of [
      '',
      'd',
      'yesterday',
      '7',
      '-7d',
      '7 d',
      '7d yesterday',
      '2026-02-30x',
      '2026-13-01',
      '999999999w',
    ]) {
      assert.equal(timeBefore(text, now), undefined, text);
    }
  });
});

describe('filters on the command line', () => {
  it('are the parameters of the query API, and those that are not given are left out', () => {
    const flags = {
      allNamespaces: false,
      source: 'all',
      namePrefix: 'churn-',
      selector: 'a=b',
      updatedAfter: '2026-01-31T12:00:00Z',
    };
    assert.deepEqual(filterQuery(flags), {
      source: 'all',
      namePrefix: 'churn-',
      updatedAfter: '2026-01-31T12:00:00Z',
      labelSelector: 'a=b',
    });
  });

  it('ask for what an owner has by its kind and name, in any case and plural, or by its uid', async () => {
    const queryOf = async (...words: readonly string[]): Promise<unknown> => {
      const command = addFilterOptions(new Command('get'))
        .exitOverride()
        .configureOutput({ writeErr: () => undefined });
      await command.parseAsync(['node', 'get', ...words]);
      return filterQuery(command.opts());
    };
    const asked = (fieldSelector: string): object => ({ source: 'present', fieldSelector });
    assert.deepEqual(await queryOf('--owned-by=pipelines/train'), asked('metadata.ownerReferences=Pipeline/train'));
    assert.deepEqual(await queryOf('--owned-by=Workflow/a'), asked('metadata.ownerReferences=Workflow/a'));
    const uid = '0ff1ce00-1234-4abc-8def-0123456789ab';
    assert.deepEqual(
      await queryOf('--owned-by', uid, '--field-selector', 'spec.tier=1'),
      asked(`spec.tier=1,metadata.ownerReferences.uid=${uid}`),
    );
    for (const owner of ['/train', 'pipeline/', 'churn', 'foo/churn', 'Foo=/churn']) {
      await assert.rejects(
        queryOf(`--owned-by=${owner}`),
        /It is <kind>\/<name>, such as pipeline\/train, or a uid/,
        owner,
      );
    }
    const annotationSelector = 'note="a, b"';
    assert.deepEqual(await queryOf('--annotation-selector', annotationSelector), {
      source: 'present',
      annotationSelector,
    });
  });

  it('say in which namespace nothing was found, and with --owned-by what may be looked for', () => {
    const session = { namespace: 'ml' };
    const one = nothingFound(session, { allNamespaces: false });
    assert.match(one, /^No such objects are stored in namespace ml\. -A looks in all/);
    assert.match(nothingFound(session, { allNamespaces: true }), /stored in any namespace that you may list\.\n$/);
    const ownedBy = 'metadata.ownerReferences=Pipeline/train';
    assert.match(nothingFound(session, { allNamespaces: false, ownedBy }), /"kubectl ingester tree" shows/);
  });

  it('lead to one namespace, or to all', () => {
    const kind = kindOf('model');
    assert.equal(listPath({ namespace: 'a b' }, kind, { allNamespaces: false }), '/namespaces/a%20b/models');
    assert.equal(listPath({ namespace: 'a' }, kind, { allNamespaces: true }), '/models');
  });
});

describe('the table of counts', () => {
  const answer = parseLossless(
    JSON.stringify({
      items: [
        {
          group: { 'spec.owner.name': null, 'created.day': '2026-01-31' },
          count: 12,
          min: { created: '2026-01-31T12:00:00.000000Z' },
          p50: { 'spec.revisionId': 7 },
        },
        {
          group: { 'spec.owner.name': 'a\u001bb', 'created.day': '2026-02-01' },
          count: 1,
          min: { created: null },
          p50: {},
        },
      ],
    }),
  ) as JsonObject;

  it('has a column for each field and figure, <none> for no value, and nothing that a terminal obeys', () => {
    assert.equal(
      countText(answer, 'heads'),
      'OWNER.NAME   CREATED.DAY   COUNT   MIN CREATED            P50 REVISIONID\n' +
        '<none>       2026-01-31    12      2026-01-31T12:00:00Z   7\n' +
        'a\\u001bb     2026-02-01    1       <none>                 <none>\n',
    );
    assert.match(countText(answer, 'no-heads'), /^<none> /);
  });

  it('is empty where there is no group', () => {
    assert.equal(countText({ items: [] }, 'heads'), '');
  });
});
