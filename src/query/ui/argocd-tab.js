// The tab "Stored" on the Michelangelo objects of Argo CD. Argo CD brings React, and its proxy says to the query API who
// asks; hack/generate puts this file behind view.js and the plurals of the kinds.
(() => {
  const { React, extensionsAPI, ingesterPlurals: plurals } = window;
  const { createApi, element, objectView } = window.ingesterView;
  const hints = {
    401: 'Argo CD sends no valid token: see "The tab in Argo CD" in the documentation of the Ingester.',
    403: 'Neither Argo CD nor the account of its token lets you see this.',
    404: 'The Ingester has not stored this object.',
  };

  /** Relative to the address of Argo CD, which may stand behind a prefix. */
  function apiOf({ metadata, spec }) {
    return createApi('extensions/ingester/', () => ({
      'Argocd-Application-Name': `${metadata.namespace}:${metadata.name}`,
      'Argocd-Project-Name': spec.project || 'default',
    }));
  }

  function problem({ status, message }) {
    return element('p', { role: 'alert' }, [message, hints[status]].filter(Boolean).join('. '));
  }

  function Stored({ application, resource }) {
    const place = React.useRef(null);
    const [uid, choose] = React.useState(undefined);
    const { kind, namespace, name } = resource;
    React.useEffect(() => {
      let shown = true;
      const show = (content) => shown && place.current.replaceChildren(content);
      show(element('p', {}, 'Asking the Ingester …'));
      objectView(apiOf(application), { plural: plurals[kind], namespace, name, uid, onIncarnation: choose }).then(
        show,
        (error) => show(problem(error)),
      );
      return () => {
        shown = false;
      };
    }, [kind, namespace, name, uid]);
    return React.createElement('div', { ref: place, style: { padding: '1rem', overflow: 'auto' } });
  }

  for (const kind of Object.keys(plurals)) {
    extensionsAPI.registerResourceExtension(Stored, 'michelangelo.api', kind, 'Stored', { icon: 'fa fa-database' });
  }
})();
