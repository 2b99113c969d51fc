# For BuildKit and for the classic builder.
#
#   docker build --tag cryobridge:0.1.0 .
#   docker run --rm cryobridge:0.1.0 demo --exit-when-done      # with --network host its pages can be opened, too
#
# Where the network opens TLS, put the certificate of its authority into build-ca.pem beside this file. To pin the base image to
# its bytes, name its digest: --build-arg NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE}
ENV NODE_ENV=production CRYOBRIDGE_CONFIG=/config/cryobridge.yaml
WORKDIR /app
COPY package.json package-lock.json .npmrc build-ca.pem* ./
# The Node.js of the packages is for machines whose own is older. PostgreSQL stays: demo and check --against start it.
RUN if [ -e build-ca.pem ]; then export NODE_EXTRA_CA_CERTS=/app/build-ca.pem; fi \
  && npm ci --omit=dev --ignore-scripts \
  && rm -rf node_modules/node-linux-* build-ca.pem ~/.npm
COPY bin bin
COPY config config
COPY src src
RUN ln -s /app/bin/cryobridge.mjs /usr/local/bin/cryobridge && mkdir /data /lims && chown node:node /data /lims
USER node
VOLUME /data
WORKDIR /data
ENTRYPOINT ["node", "/app/bin/cryobridge.mjs"]
CMD ["start"]
