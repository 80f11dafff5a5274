# One image for the web process, the Celery workers, beat and the trainer: they differ by their command alone,
# which compose.yaml names.
# docker build -f deploy/server.Dockerfile -t tengen-server .
# Every package is checked by its hash (python -m deploy.lock). For a GPU, or another processor than x86-64, name
# another index and a file of your own with that torch and what it needs: --build-arg TORCH_INDEX=… TORCH_LOCK=…
ARG PYTHON_IMAGE=python:3.11-slim
FROM ${PYTHON_IMAGE}

RUN useradd --create-home --uid 10001 tengen
WORKDIR /app
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ARG TORCH_LOCK=deploy/locks/torch-cpu.txt
COPY deploy/locks deploy/locks
RUN pip install --no-cache-dir --no-deps --require-hashes --index-url ${TORCH_INDEX} -r ${TORCH_LOCK} \
 && pip install --no-cache-dir --no-deps --require-hashes -r deploy/locks/server.txt \
 && pip check
COPY manage.py gunicorn.conf.py LICENSE ./
COPY common common
COPY nets nets
COPY client client
COPY server server
RUN python manage.py collectstatic --noinput \
 && mkdir -p /data/files /data/training && chown -R tengen /data
USER tengen
ENV TENGEN_CACHE_DIR=/tmp/tengen PYTHONUNBUFFERED=1
EXPOSE 8000
