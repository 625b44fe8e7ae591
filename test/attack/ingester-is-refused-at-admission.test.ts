// What an Ingester may not ask for is refused where it is written, so that no user has to read a condition to learn it;
// by the webhook and by the policies that replace it.
import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { ApiAnswer } from '../support/api-server.ts';
import { contentTypes } from '../support/api-server.ts';
import { inBothVariants } from '../support/both-variants.ts';
import { eventually } from '../support/eventually.ts';
import { fine, forbiddenAsks } from '../support/ingester-asks.ts';

const NS = 'ingester-system';
const ingesters = `/apis/ingester.michelangelo.api/v1/namespaces/${NS}/ingesters`;
const configMaps = `/api/v1/namespaces/${NS}/configmaps`;

inBothVariants('who writes an Ingester', ({ admission, variant }) => {
  const name = `of-${variant}`;
  const path = `${ingesters}/${name}`;
  const objectOf = (spec: unknown) => {
    return { apiVersion: 'ingester.michelangelo.api/v1', kind: 'Ingester', metadata: { name }, spec };
  };
  const create = (spec: unknown, dryRun = ''): Promise<ApiAnswer> =>
    admission().api.call({ method: 'POST', path: `${ingesters}${dryRun}`, body: objectOf(spec) });
  const patch = (body: object): Promise<ApiAnswer> =>
    admission().api.call({ method: 'PATCH', path, body, contentType: contentTypes.merge });
  const permit = async (data: Readonly<Record<string, string | null>>): Promise<void> => {
    const { api } = admission();
    const body = { metadata: { name: 'ingester-permitted' }, data };
    const at = `${configMaps}/ingester-permitted`;
    const { status } = await api.call({ method: 'PATCH', path: at, body, contentType: contentTypes.merge });
    if (status !== 404) return;
    const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
    await api.must({ method: 'POST', path: configMaps, body: { ...body, data: given } });
  };

  before(async () => {
    // As the lifecycle controller writes it.
    const body = { data: { repository: 'michelangelo-ingester' } };
    const at = `${configMaps}/ingester-admission-record`;
    await admission().api.must({ method: 'PATCH', path: at, body, contentType: contentTypes.merge });
    await permit({ images: 'michelangelo-ingester', secrets: null, labels: null });
    // The first question connects the webhook, and the API server learns of the ConfigMap by a watch.
    await eventually(async () => {
      const { status, warnings } = await create({ ...fine, imagePullSecrets: ['theirs'] }, '?dryRun=All');
      assert.deepEqual([status, warnings], [403, []]);
      const allowed = await create(fine, '?dryRun=All');
      assert.equal(allowed.status, 201, allowed.body.message);
    });
  });

  it(`an Ingester is refused each of ${forbiddenAsks.length} things, with the field and the ConfigMap that would permit it`, async () => {
    for (const [what, field, change] of forbiddenAsks) {
      const { status, body } = await create({ ...fine, ...change }, '?dryRun=All');
      assert.equal(status, 403, what);
      const message = body.message ?? '';
      assert.match(message, /ConfigMap ingester-permitted/, what);
      const shown = variant === 'webhook' ? field : field.replace(/\[\d+\]/g, '');
      assert.ok(message.includes(`${shown}: `) || message.includes(`${shown}.`), `${what}: ${message}`);
    }
  });

  it('an Ingester with several forbidden fields is refused with all of them at once', async () => {
    const spec = {
      ...fine,
      database: { ...fine.database, host: 'theirs' },
      podTemplate: { priorityClassName: 'high' },
    };
    const { body } = await create({ ...spec, imagePullSecrets: ['theirs'] }, '?dryRun=All');
    for (const field of ['database.host', 'podTemplate.priorityClassName', 'imagePullSecrets']) {
      assert.match(body.message ?? '', new RegExp(`spec\\.${field}: `));
    }
  });

  it('an Ingester keeps what was permitted once: its other fields can be edited, it can be deleted, and it gets no more', async () => {
    const theirs: Partial<IngesterSpec> = { imagePullSecrets: ['theirs'] };
    await permit({ secrets: 'ingester-* theirs' });
    await eventually(async () => assert.equal((await create({ ...fine, ...theirs })).status, 201));
    await permit({ secrets: null });
    await eventually(async () => assert.equal((await create({ ...fine, ...theirs }, '?dryRun=All')).status, 403));
    for (const body of [{ metadata: { labels: { a: 'b' } } }, { spec: { suspend: true } }]) {
      assert.equal((await patch(body)).status, 200);
    }
    const status = await admission().api.call({
      ...{ method: 'PATCH', path: `${path}/status`, body: { status: { phase: 'Running' } } },
      contentType: contentTypes.merge,
    });
    assert.equal(status.status, 200);
    assert.equal((await patch({ spec: { imagePullSecrets: ['theirs', 'others'] } })).status, 403);
    assert.equal((await patch({ spec: { imagePullSecrets: ['theirs', 'ingester-pull'] } })).status, 200);
    assert.equal((await admission().api.call({ method: 'DELETE', path })).status, 200);
  });
});
