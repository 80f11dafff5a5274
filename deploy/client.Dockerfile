# The volunteer's program. For NVIDIA GPUs build with --build-arg TORCH_INDEX=https://download.pytorch.org/whl/cu130
# and run with --gpus all:
#   docker build -f deploy/client.Dockerfile -t tengen-client .
#   docker run -it -v tengen:/data -e TENGEN_SERVER_URL=... -e TENGEN_USERNAME=... -e TENGEN_PASSWORD=... tengen-client
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 tengen && mkdir /data && chown tengen /data
WORKDIR /app
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY requirements.lock ./
COPY client/requirements.txt client/requirements.txt
RUN pip install --no-cache-dir --constraint requirements.lock --index-url ${TORCH_INDEX} torch \
 && pip install --no-cache-dir --constraint requirements.lock -r client/requirements.txt
COPY LICENSE ./
COPY common common
COPY nets nets
COPY client client
USER tengen
ENV TENGEN_DATA_DIR=/data TENGEN_CACHE_DIR=/data/cache PYTHONUNBUFFERED=1
# SIGINT lets the running games finish; `docker stop` has to wait for them.
STOPSIGNAL SIGINT
ENTRYPOINT ["python", "-m", "client"]
