# The one image of all roles: the built program on Node, nothing else. The base is named by its digest; a mirror or a newer
# one is --build-arg BASE=name@sha256:...
ARG BASE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
FROM $BASE AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY LICENSE tsconfig.json ./
COPY schema ./schema
COPY webhooks ./webhooks
COPY src ./src
COPY hack/build ./hack/build
ARG COMMIT=unknown
RUN node hack/build/main.ts /program

FROM $BASE
ARG COMMIT=unknown
ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="michelangelo-ingester" \
      org.opencontainers.image.description="Keeps Michelangelo's Kubernetes metadata in MySQL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
ENV NODE_ENV=production
COPY --from=build /program /app
RUN mkdir /app/node_modules && chmod 0755 /app/src/main.js /app/src/kubectl-ingester.js \
 && ln -s /app/src/main.js /usr/local/bin/ingester \
 && ln -s /app/src/kubectl-ingester.js /usr/local/bin/kubectl-ingester
# Loads the code of every role once, so that what was compiled is part of the image; none of them can do anything here.
RUN for role in webhook reconciler query; do timeout 10 ingester "$role" > /dev/null 2>&1; done; test -d /app/node_modules/.cache
# A number, so that runAsNonRoot can be checked.
USER 65532:65532
ENTRYPOINT ["ingester"]
