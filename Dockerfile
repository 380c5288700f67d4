# Satchel for a team, over HTTP. Build: docker build -t satchel .   Run: see compose.yaml and docs/teams/deploy.md.
FROM python:3.13-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/satchel
WORKDIR /source
COPY locks/run.txt locks/run.txt
RUN /opt/satchel/bin/pip install --require-hashes -r locks/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/satchel/bin/pip install --no-deps --no-build-isolation . \
    && /opt/satchel/bin/python -m compileall -q /opt/satchel/lib

FROM python:3.13-slim

RUN useradd --uid 10001 --no-create-home --home-dir /data satchel \
    && install --directory --owner=satchel --group=satchel --mode=0700 /data
COPY --from=build /opt/satchel /opt/satchel
ENV PATH=/opt/satchel/bin:$PATH SATCHEL_HOME=/data SATCHEL_TRANSPORT=http SATCHEL_HOST=0.0.0.0 SATCHEL_AUTH=token
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
# Without arguments the image serves HTTP; `docker run -i satchel serve --transport stdio` serves one client.
ENTRYPOINT ["satchel"]
CMD ["serve"]
