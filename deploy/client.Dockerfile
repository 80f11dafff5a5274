# The volunteer's program; every package is checked by its hash (python -m deploy.lock). For NVIDIA GPUs name an index,
# such as https://download.pytorch.org/whl/cu130, and a file of your own with that torch and what it needs:
# --build-arg TORCH_INDEX=… TORCH_LOCK=…, and run with --gpus all.
#   docker build -f deploy/client.Dockerfile -t tengen-client .
#   docker run -it -v tengen:/data -e TENGEN_SERVER_URL=... -e TENGEN_TOKEN=... tengen-client
ARG PYTHON_IMAGE=python:3.11-slim
FROM ${PYTHON_IMAGE}

RUN useradd --create-home --uid 10001 tengen && mkdir /data && chown tengen /data
WORKDIR /app
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG TORCH_LOCK=deploy/locks/torch-cpu.txt
COPY deploy/locks deploy/locks
RUN pip install --no-cache-dir --no-deps --require-hashes --index-url ${TORCH_INDEX} -r ${TORCH_LOCK} \
 && pip install --no-cache-dir --no-deps --require-hashes -r deploy/locks/client.txt \
 && pip check
COPY LICENSE ./
COPY common common
COPY nets nets
COPY client client
USER tengen
ENV TENGEN_DATA_DIR=/data TENGEN_CACHE_DIR=/data/cache PYTHONUNBUFFERED=1
# SIGINT lets the running games finish; `docker stop` has to wait for them.
STOPSIGNAL SIGINT
ENTRYPOINT ["python", "-m", "client"]
